-- ARGV: epoch, instance, at, stream length, kind, state, packed state, its packed lasting part, entry overhead.
-- Returns 0 when stale.
if stale(ARGV[1], ARGV[2]) then return 0 end
local at, kind, lasting = ARGV[3], ARGV[5], ARGV[8]
local old = redis.call('HGET', sync, kind)
if old == ARGV[6] then return 1 end
local letter = old and 'M' or 'A'
redis.call('HSET', sync, kind, ARGV[6])
local revision = append('sync', kind, letter, ARGV[7], at, ARGV[4])
-- Counters move every few seconds, and are no history.
local record = redis.call('HGET', current('sync'), kind)
if not record or body_of(record) ~= lasting then
  if record then archive('sync', kind, record, at, tonumber(ARGV[9])) end
  redis.call('HSET', current('sync'), kind,
    string.format('%.0f', revision) .. ' ' .. at .. ' ' .. letter .. '\n' .. lasting)
end
return 1
