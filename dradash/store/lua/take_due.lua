-- ARGV: now, limit, leased until. Returns pod and info in turn, oldest first.
-- Only leases look at the judges' clock; a pod that was never taken is due whatever the clocks say.
local limit = tonumber(ARGV[2])
for _, pod in ipairs(redis.call('ZRANGEBYSCORE', leased, '-inf', ARGV[1], 'LIMIT', 0, limit)) do
  local info = redis.call('HGET', due_info, pod)
  redis.call('ZREM', leased, pod)
  if info then redis.call('ZADD', due, string.match(info, '^%d+ (%S+)'), pod) end
end
local taken = {}
for _, pod in ipairs(redis.call('ZRANGE', due, 0, limit - 1)) do
  redis.call('ZREM', due, pod)
  local info = redis.call('HGET', due_info, pod)
  if info then
    redis.call('ZADD', leased, ARGV[3], pod)
    taken[#taken + 1] = pod
    taken[#taken + 1] = info
  end
end
return taken
