-- ARGV: epoch, instance, oldest time to keep, bytes to keep, unused sets older than this may go, steps.
-- Returns false when stale, 1 when there is more to do, else 0.
if stale(ARGV[1], ARGV[2]) then return false end
local oldest, limit, steps = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6])
local had = tonumber(redis.call('HGET', meta, 'history_bytes') or 0)
local bytes, start, more = had, nil, 0
local head = redis.call('LINDEX', history_index, 0)
while head do
  local at, size, name = string.match(head, '^(%S+) (%d+) (.*)$')
  if tonumber(at) > oldest and bytes <= limit then break end
  if steps == 0 then
    more = 1
    break
  end
  steps = steps - 1
  -- Records enter an object's list and the index in the same order, so the heads belong together.
  redis.call('LPOP', history .. name)
  redis.call('LPOP', history_index)
  bytes = bytes - tonumber(size)
  if not start or tonumber(at) > tonumber(start) then start = at end
  head = redis.call('LINDEX', history_index, 0)
end
if start then
  redis.call('HINCRBY', meta, 'history_bytes', string.format('%.0f', bytes - had))
  local was = redis.call('HGET', meta, 'history_start')
  if not was or tonumber(was) < tonumber(start) then redis.call('HSET', meta, 'history_start', start) end
end

-- A set that no verdict in force names since T is named by no kept one either when nothing superseded at T is kept.
local before = tonumber(ARGV[5])
if head then before = math.min(before, tonumber(string.match(head, '^%S+'))) end
local unused = redis.call('ZRANGEBYSCORE', node_sets_unused, '-inf', '(' .. string.format('%.6f', before), 'LIMIT', 0, 500)
for _, digest in ipairs(unused) do
  redis.call('HDEL', node_sets, digest)
  redis.call('ZREM', node_sets_unused, digest)
end
if #unused == 500 then more = 1 end
return more
