-- ARGV: holder, ttl in ms, uuid for a new model, least epoch for a new model. Returns {epoch, instance} or false.
local holder = redis.call('GET', lease)
if holder and holder ~= ARGV[1] then return false end
if redis.call('HSETNX', meta, 'instance', ARGV[3]) == 1 then
  -- After a loss of everything, epochs must not come again: begin at the time of day.
  local first = math.max(tonumber(redis.call('TIME')[1]), tonumber(ARGV[4]))
  redis.call('HSET', meta, 'epoch', string.format('%.0f', first))
  holder = false
end
if not holder then redis.call('HINCRBY', meta, 'epoch', 1) end
redis.call('SET', lease, ARGV[1], 'PX', ARGV[2])
return redis.call('HMGET', meta, 'epoch', 'instance')
