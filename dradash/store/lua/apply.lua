-- ARGV: epoch, instance, at, stream length, entry overhead, hints kept,
--   number of writes, then kind, key, type, packed body for each,
--   number of due pods, then pod, revision, hints (one a line) for each.
-- Returns false when stale, else {number of the write (from 1), revision, letter} for each change, with a fourth item,
-- the packed verdict, where a pod's deletion took its verdict along.
local at, length, overhead, hints_kept = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
if stale(ARGV[1], ARGV[2]) then return false end

local result, latest = {}, 0

local function changed(number, revision, letter, body)
  latest = revision
  result[#result + 1] = {number, revision, letter, body}
end

local function drop_verdict(number, pod)
  clear_due(pod)
  local record = redis.call('HGET', verdicts, pod)
  if not record then return end
  local body = body_of(record)
  local revision = append('verdicts', pod, 'D', body, at, length)
  archive('verdicts', pod, record, at, overhead)
  archive('verdicts', pod, string.format('%.0f', revision) .. ' ' .. at .. ' D\n' .. body, at, overhead)
  redis.call('HDEL', verdicts, pod)
  release_sets(record, at)
  changed(number, revision, 'D', body)
end

local function delete(number, kind, key, body, old)
  if not old then return end
  local revision = append(kind, key, 'D', body, at, length)
  archive(kind, key, old, at, overhead)
  archive(kind, key, string.format('%.0f', revision) .. ' ' .. at .. ' D\n' .. body, at, overhead)
  redis.call('HDEL', current(kind), key)
  changed(number, revision, 'D')
  if kind == 'pods' then drop_verdict(number, key) end
end

local function put(number, kind, key, body, old)
  if old and body_of(old) == body then return end
  local letter = old and 'M' or 'A'
  local revision = append(kind, key, letter, body, at, length)
  local created = string.format('%.0f', revision)
  if old then
    created = string.match(old, '^%d+ %S+ %a (%d+)')
    archive(kind, key, old, at, overhead)
  else
    redis.call('SADD', kinds, kind)
  end
  -- Slots count up from 0 and a name keeps its slot, so a set in an old verdict still means the same nodes.
  if kind == 'nodes' and not old then redis.call('HSETNX', node_slots, key, redis.call('HLEN', node_slots)) end
  redis.call('HSET', current(kind), key,
    string.format('%.0f', revision) .. ' ' .. at .. ' ' .. letter .. ' ' .. created .. '\n' .. body)
  changed(number, revision, letter)
end

local function mark(pod, revision, notes)
  -- The caller cannot know the revisions that its own writes get: a pod is due at least because of the last one.
  revision = math.max(tonumber(revision), latest)
  local since = at
  local known = redis.call('HGET', due_info, pod)
  if known then
    local had, since_then, old_notes = string.match(known, '^(%d+) (%S+)(.*)$')
    revision, since = math.max(revision, tonumber(had)), since_then
    local all = {}
    for note in string.gmatch(old_notes .. '\n' .. notes, '[^\n]+') do all[#all + 1] = note end
    notes = table.concat(all, '\n', math.max(1, #all - hints_kept + 1))
  else
    redis.call('ZADD', due, at, pod)
  end
  redis.call('HSET', due_info, pod, string.format('%.0f', revision) .. ' ' .. since .. '\n' .. notes)
end

redis.call('HSETNX', meta, 'history_start', at)
local next_arg = 8
for number = 1, tonumber(ARGV[7]) do
  local kind, key, body = ARGV[next_arg], ARGV[next_arg + 1], ARGV[next_arg + 3]
  local old = redis.call('HGET', current(kind), key)
  if ARGV[next_arg + 2] == 'DELETED' then
    delete(number, kind, key, body, old)
  else
    put(number, kind, key, body, old)
  end
  next_arg = next_arg + 4
end
for _ = 1, tonumber(ARGV[next_arg]) do
  mark(ARGV[next_arg + 1], ARGV[next_arg + 2], ARGV[next_arg + 3])
  next_arg = next_arg + 3
end
return result
