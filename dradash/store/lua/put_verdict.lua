-- ARGV: instance, pod, revision, at, stream length, entry overhead, fingerprint, digests joined by commas (or -),
--   packed verdict, then digest and packed set in turn. Returns 1 when stored.
local instance, pod, revision, at = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local now = redis.call('HMGET', meta, 'instance', 'rev')
-- A verdict on a model that was lost since.
if not now[1] or (instance ~= '' and now[1] ~= instance) or revision > tonumber(now[2] or 0) then return 0 end

local info = redis.call('HGET', due_info, pod)
if info then
  local wanted, since, notes = string.match(info, '^(%d+) (%S+)(.*)$')
  if tonumber(wanted) <= revision then
    clear_due(pod)
  elseif redis.call('ZREM', leased, pod) == 1 then
    -- To the end of the queue: a pod that changes all the time must not keep others waiting.
    redis.call('HSET', due_info, pod, wanted .. ' ' .. at .. notes)
    redis.call('ZADD', due, at, pod)
  end
end

local object = redis.call('HGET', objects .. 'pods', pod)
-- No such pod, or only one of the same name that was created after the judgement.
if not object or tonumber(string.match(object, '^%d+ %S+ %a (%d+)')) > revision then return 0 end
local old = redis.call('HGET', verdicts, pod)
local first = nil
if old then
  local line, judged, mark = string.match(old, '^(%d+ %S+ %a) (%d+) (%S+)')
  if tonumber(judged) >= revision then return 0 end
  if mark == ARGV[7] then first = line end
end
if not first then
  local letter = old and 'M' or 'A'
  if old then archive('verdicts', pod, old, at, tonumber(ARGV[6])) end
  first = string.format('%.0f', append('verdicts', pod, letter, ARGV[9], at, ARGV[5])) .. ' ' .. at .. ' ' .. letter
end
redis.call('HSET', verdicts, pod,
  first .. ' ' .. ARGV[3] .. ' ' .. ARGV[7] .. ' ' .. ARGV[8] .. '\n' .. ARGV[9])
for i = 10, #ARGV, 2 do
  redis.call('HSETNX', node_sets, ARGV[i], ARGV[i + 1])
  redis.call('HINCRBY', node_set_uses, ARGV[i], 1)
  redis.call('ZREM', node_sets_unused, ARGV[i])
end
if old then release_sets(old, at) end
return 1
