-- ARGV: holder, epoch, instance. Also ends the epoch, so that a late write of the one who let go is refused.
if stale(ARGV[2], ARGV[3]) then return 0 end
if redis.call('GET', lease) == ARGV[1] then redis.call('DEL', lease) end
redis.call('HINCRBY', meta, 'epoch', 1)
return 1
