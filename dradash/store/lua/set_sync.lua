-- ARGV: epoch, instance, at, stream length, kind, state, packed state. Returns 0 when stale.
if stale(ARGV[1], ARGV[2]) then return 0 end
local old = redis.call('HGET', sync, ARGV[5])
if old ~= ARGV[6] then
  redis.call('HSET', sync, ARGV[5], ARGV[6])
  append('sync', ARGV[5], old and 'M' or 'A', ARGV[7], ARGV[3], ARGV[4])
end
return 1
