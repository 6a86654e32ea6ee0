-- Put before every script, after the locals with the key names (keys.py, lua_prelude).
-- A record is "<revision> <at> <A|M|D> ...\n<packed body>"; the first line is all that scripts look at.

local TYPES = {A = 'ADDED', M = 'MODIFIED', D = 'DELETED'}

local function current(kind)
  if kind == 'verdicts' then return verdicts end
  return objects .. kind
end

local function body_of(record)
  return string.sub(record, string.find(record, '\n', 1, true) + 1)
end

-- instance '' is a writer that never stood for election with this store object: the epoch alone decides.
local function stale(epoch, instance)
  local now = redis.call('HMGET', meta, 'epoch', 'instance')
  return now[1] ~= epoch or not now[2] or (instance ~= '' and now[2] ~= instance)
end

-- Takes the next revision and appends the change to the stream. The stream's ids are revisions without gaps:
-- that is how a reader sees that the part it needs was trimmed.
local function append(kind, key, letter, body, at, length)
  local revision = redis.call('HINCRBY', meta, 'rev', 1)
  redis.call('XADD', changes, 'MAXLEN', '~', length, string.format('%.0f-0', revision),
    'k', kind, 'y', key, 't', TYPES[letter], 'o', body, 'a', at)
  return revision
end

-- A superseded record goes to the history of its object. at: when it was superseded.
local function archive(kind, key, record, at, overhead)
  local name = kind .. ':' .. key
  local entry = at .. ' ' .. (#record + #name + overhead) .. ' ' .. name
  redis.call('RPUSH', history .. name, record)
  redis.call('RPUSH', history_index, entry)
  redis.call('HINCRBY', meta, 'history_bytes', #record + #name + overhead)
end

-- A verdict's first line also names its node sets: "... <fingerprint> <digest,digest|->".
local function release_sets(record, at)
  local digests = string.match(record, '^%d+ %S+ %a %d+ %S+ (%S+)\n')
  for digest in string.gmatch(digests, '[^,]+') do
    if digest ~= '-' and redis.call('HINCRBY', node_set_uses, digest, -1) <= 0 then
      redis.call('HDEL', node_set_uses, digest)
      redis.call('ZADD', node_sets_unused, at, digest)
    end
  end
end

local function clear_due(pod)
  redis.call('HDEL', due_info, pod)
  redis.call('ZREM', due, pod)
  redis.call('ZREM', leased, pod)
end
