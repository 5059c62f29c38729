--[[
Purpose    Makes or enlarges one reservation over the items of a call, or looks at their keys without reserving (an empty id).
Guarantee  All of a call happens at once: every item is granted, or none is. A grant means: both cells by this server's clock, all living
           holds of the key and this one fit the limit. A repeated call changes nothing. Nothing is ever without an expiry.
KEYS       five per item, one hash slot: the cell of the window, the cell before it, the key's holds, the key's ended holds of this bucket
           and of the bucket before
ARGV       1 mark   2 bucket   3 id, or ''   4 ttl in ms   5 latest time of this server at which the call may still be executed
           6 most living holds per key   7 most ended holds per key and bucket
           then twelve per item: duration, window, limit, cost, the caller's component field, its totals of the two cells, the sums of
           the two cells as the caller knows them, what other regions have counted in the two cells, and what the caller holds in memory
Answer     mark, this server's time; then per item a code, the hold's deadline, sum and component of the cell, sum and component of the
           cell before, cost of the living holds, earliest deadline (or 0), version of the holds
Codes      granted, again (granted before), fits (another item was refused), limit, reserved, full, ended, looked;
           of the whole call: stale (too late), window (the caller's window or bucket is not this server's); or an error's text

Holds      a hash: `t` cost of the living holds, `n` their number, `d` a time before which none expires, `v` version, `e` expiry,
           `r` the run id of the server that made it, `h:<id>` "deadline cost" of a living hold, `l:<id>` the same of an expired one
Cells      get the field `h`, "version cost deadline": replay's answers carry it to the other processes
]]
local MOST, BUCKET, LATE, GRID, SLACK, WIDTH = 9007199254740991, 600000, 3600000, 256, 60000, 12
-- A call may be executed at most this long after it was sent: older tombstones need not be looked at.
local BY_MAX = 60000
local id, ttl, by, holdsMax, endedMax = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local micros = tonumber(time[2])
local now = tonumber(time[1]) * 1000 + math.floor(micros / 1000)
local answer = { ARGV[1], now }

-- floor(count * left / duration), exact in doubles: one digit of 16 bits at a time.
local function weigh(count, left, duration)
  if count * left <= MOST then return math.floor(count * left / duration) end
  local whole = math.floor(count / duration)
  local rest = count - whole * duration
  local high = math.floor(left / 65536)
  local a = rest * high
  local q = math.floor(a / duration)
  return whole * left + q * 65536 + math.floor(((a - q * duration) * 65536 + rest * (left - high * 65536)) / duration)
end

-- Writes fields into a hash that has, or now gets, this expiry. Numbers go to Redis with 17 digits: all of ours are exact.
local function put(key, expiry, isLater, ...)
  if isLater and redis.acl_check_cmd and not redis.acl_check_cmd('PEXPIREAT', key, expiry) then
    error('NOPERM no right to pexpireat')
  end
  redis.call('HSET', key, ...)
  if isLater then redis.call('PEXPIREAT', key, expiry) end
end

-- A client may round an integer near the largest exact one, so sums are answered as texts.
local function told(count) return string.format('%.0f', count) end

-- "deadline cost": a deadline in ms has 13 digits until the year 2286.
local function parse(record) return tonumber(string.sub(record, 1, 13)), tonumber(string.sub(record, 15)) end

-- Takes out the holds that have expired: they become `l:` for an hour, in which they may still be settled.
local function purge(key, holds)
  local all, gone, late, kept, earliest = redis.call('HGETALL', key), {}, {}, 0, MOST
  for i = 1, #all, 2 do
    local field = all[i]
    local kind = string.sub(field, 1, 2)
    if kind == 'h:' then
      local deadline, cost = parse(all[i + 1])
      if deadline <= now then
        gone[#gone + 1] = field
        late[#late + 1] = 'l:' .. string.sub(field, 3)
        late[#late + 1] = all[i + 1]
        holds.t, holds.n = holds.t - cost, holds.n - 1
      elseif deadline < earliest then
        earliest = deadline
      end
    elseif kind == 'l:' then
      if parse(all[i + 1]) + LATE <= now or kept >= holdsMax then gone[#gone + 1] = field else kept = kept + 1 end
    end
  end
  holds.d, holds.isPurged = earliest, true
  -- Deleting comes first: Redis never refuses it for want of memory, nor what a script writes after it.
  for i = 1, #gone, 500 do redis.call('HDEL', key, unpack(gone, i, math.min(i + 499, #gone))) end
  redis.call('HSET', key, 't', holds.t, 'n', holds.n, 'd', holds.d)
  for i = 1, #late, 500 do redis.call('HSET', key, unpack(late, i, math.min(i + 499, #late))) end
end

local function holdsOf(key)
  local f = redis.call('HMGET', key, 't', 'n', 'd', 'v', 'e', 'r', 'h:' .. id, 'l:' .. id)
  local holds = { key = key, t = tonumber(f[1] or 0), n = tonumber(f[2] or 0), d = tonumber(f[3] or 0), v = tonumber(f[4] or 0),
    e = tonumber(f[5] or 0), r = f[6], isMine = f[7] ~= false, isLate = f[8] ~= false, old = 0, had = 0, asked = 0 }
  if f[7] then
    holds.old, holds.had = parse(f[7])
    if holds.old <= now then holds.isMine, holds.isLate, holds.had = false, true, 0 end
  end
  if holds.n > 0 and now >= holds.d then purge(key, holds) end
  return holds
end

-- A cell, with the caller's own component raised to its total.
local function cellOf(key, field, total, expiry)
  local f = redis.call('HMGET', key, 't', field, 'e')
  local sum, own, e = tonumber(f[1] or 0), tonumber(f[2] or 0), tonumber(f[3] or 0)
  if not sum or not own or own > sum then error('JUNK not a cell') end
  if total > own then
    sum, own = math.min(MOST, sum + total - own), total
    put(key, expiry, expiry > e, 't', sum, field, total, 'e', math.max(e, expiry))
    e = math.max(e, expiry)
  end
  return sum, own, e
end

local function codeOf(item, count, holds)
  -- Items of one key add up, and a hold that is there already is enlarged, never added again.
  holds.asked = holds.asked + item.cost
  local rise = holds.asked - holds.had
  local k = item.k
  if holds.isLate or redis.call('HEXISTS', KEYS[k + 3], id) == 1 then return 'ended' end
  if now % BUCKET < BY_MAX and redis.call('HEXISTS', KEYS[k + 4], id) == 1 then return 'ended' end
  if holds.isMine and rise <= 0 then return 'again' end
  if count + holds.asked > item.limit then return 'limit' end
  if count + holds.t + rise + tonumber(ARGV[item.a + 12]) > item.limit then return 'reserved' end
  if not holds.isMine and holds.n >= holdsMax then return 'full' end
  -- One call in 16 is enough to keep a hash of a million from growing on.
  if micros % 16 == 0 and redis.call('HLEN', KEYS[k + 3]) >= endedMax then return 'full' end
  return 'granted'
end

local function record(holds)
  if not holds.isMine or holds.asked > holds.had then
    holds.deadline = math.max(holds.old, math.ceil((now + ttl) / GRID) * GRID)
    holds.t, holds.n = holds.t + math.max(0, holds.asked - holds.had), holds.n + (holds.isMine and 0 or 1)
    holds.d = holds.n == 1 and holds.deadline or math.min(holds.d, holds.deadline)
    holds.isChanged = true
  else
    holds.deadline = holds.old
  end
end

local function run()
  local items, byHolds, isRefused = {}, {}, false
  -- A look is for a decision by its caller's clock: it reads the cells it names.
  local isLook = id == ''
  if not isLook and (by < now or by > now + BY_MAX) then answer[3] = 'stale' return end
  if not isLook and math.floor(now / BUCKET) ~= tonumber(ARGV[2]) then answer[3] = 'window' return end
  for i = 1, #KEYS / 5 do
    local k, a = 5 * i - 4, 7 + WIDTH * (i - 1)
    local duration, window = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
    if not isLook and math.floor(now / duration) ~= window then answer[3] = 'window' return end
    items[i] = { k = k, a = a, duration = duration, window = window, limit = tonumber(ARGV[a + 3]), cost = tonumber(ARGV[a + 4]) }
  end
  for i, item in ipairs(items) do
    local k, a, duration, window = item.k, item.a, item.duration, item.window
    item.expiry = (window + 2) * duration
    item.sum, item.own, item.e = cellOf(KEYS[k], ARGV[a + 5], tonumber(ARGV[a + 6]), item.expiry)
    item.before, item.ownBefore = cellOf(KEYS[k + 1], ARGV[a + 5], tonumber(ARGV[a + 7]), (window + 1) * duration)
    local holds = byHolds[KEYS[k + 2]] or holdsOf(KEYS[k + 2])
    byHolds[KEYS[k + 2]], item.holds = holds, holds
    if isLook then
      item.code = 'looked'
    else
      local count = math.max(item.sum, tonumber(ARGV[a + 8])) + tonumber(ARGV[a + 10])
        + weigh(math.max(item.before, tonumber(ARGV[a + 9])) + tonumber(ARGV[a + 11]), (window + 1) * duration - now, duration)
      item.code = codeOf(item, count, holds)
      isRefused = isRefused or (item.code ~= 'granted' and item.code ~= 'again')
    end
  end
  for _, holds in pairs(byHolds) do
    if not isLook and not isRefused then record(holds) end
    if holds.isChanged or holds.isPurged then
      local r = holds.r or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
      holds.v = math.max(holds.v + 1, now * 1000 + micros % 1000)
      local isLater = (holds.deadline or 0) + LATE > holds.e
      if isLater then holds.e = holds.deadline + LATE + SLACK end
      if holds.isChanged then
        local mine = string.format('%.0f %.0f', holds.deadline, holds.asked)
        put(holds.key, holds.e, isLater, 't', holds.t, 'n', holds.n, 'd', holds.d, 'v', holds.v, 'e', holds.e, 'r', r, 'h:' .. id, mine)
      else
        redis.call('HSET', holds.key, 'v', holds.v)
      end
    end
  end
  for i, item in ipairs(items) do
    local holds, o = item.holds, 3 + 9 * (i - 1)
    local earliest = holds.n == 0 and 0 or holds.d
    if holds.isChanged or holds.isPurged then
      local flag = string.format('%.0f %.0f %.0f', holds.v, holds.t, earliest)
      -- With its sum: a hash without one is taken for somebody else's.
      put(KEYS[item.k], item.expiry, item.expiry > item.e, 't', item.sum, 'h', flag, 'e', math.max(item.e, item.expiry))
    end
    answer[o] = (isRefused and (item.code == 'granted' or item.code == 'again')) and 'fits' or item.code
    answer[o + 1] = holds.deadline or holds.old
    answer[o + 2], answer[o + 3], answer[o + 4], answer[o + 5] = told(item.sum), item.own, told(item.before), item.ownBefore
    answer[o + 6], answer[o + 7], answer[o + 8] = holds.t, earliest, holds.v
  end
end

local isOk, failure = pcall(run)
if not isOk then return { ARGV[1], now, type(failure) == 'table' and failure.err or tostring(failure) } end
return answer
