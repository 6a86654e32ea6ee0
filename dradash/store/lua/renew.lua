-- ARGV: holder, epoch, instance, ttl in ms. An expired lease that nobody took since is taken again.
local holder = redis.call('GET', lease)
if stale(ARGV[2], ARGV[3]) or (holder and holder ~= ARGV[1]) then return 0 end
redis.call('SET', lease, ARGV[1], 'PX', ARGV[4])
return 1
