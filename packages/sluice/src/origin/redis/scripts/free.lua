--[[
Purpose    Ends or renews holds: settle (count the truth and free), release (free), cancel (release, even if the hold was not made yet),
           renew (move the deadline).
Guarantee  All of an item happens at once. A hold is ended once; a settlement is counted in the same step, so it is counted once, whoever
           repeats it. Renewing never revives a hold. An unknown id changes nothing, except for cancel. Nothing is without an expiry.
KEYS       five per item, as in hold.lua
ARGV       1 mark   2 bucket; then eight per item: duration, window, id, verb, actual, ttl in ms (renew), the component field that the
           caller's settlements are counted under, and what the caller knows to be counted under it in this cell
Answer     mark, this server's time; then per item a code, the actual that was counted, the deadline, sum and component of the cell,
           cost of the living holds, earliest deadline (or 0), version of the holds
Codes      settled, late (settled after the deadline), released, renewed; settled-before, released-before; expired (renew only), unknown;
           of the whole call: window; or an error's text

Ended      a hash per bucket of ten minutes: `<id>` "s actual" or "r"
Cells      get the field `r`: the life (run id) of the holds that its first settlement came from
]]
local MOST, SATURATED, BUCKET, LATE, GRID, SLACK, WIDTH = 9007199254740991, 17592186044416, 600000, 3600000, 256, 60000, 8
local META = 6
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local bucket = tonumber(ARGV[2])
local answer = { ARGV[1], now }

-- Numbers go to Redis with 17 digits: all of ours are exact.
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

-- What a settlement is added to: the component as it is, or the caller's known total, so that an emptied server gets it back. Not where
-- holds of another life of the server survive: one of them may belong to a settlement within that total, and would be counted twice.
local function base(k, own, known, cellLife, holdsLife)
  if known <= own then return own end
  local here = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local before = redis.call('HGET', KEYS[k + 1], 'r')
  if holdsLife == here and (not cellLife or cellLife == here) and (not before or before == here) then return known end
  return own
end

local function free(k, a)
  local duration, window, id, verb = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), ARGV[a + 3], ARGV[a + 4]
  local actual, ttl, field, known = tonumber(ARGV[a + 5]), tonumber(ARGV[a + 6]), ARGV[a + 7], tonumber(ARGV[a + 8])
  local key, holds, expiry = KEYS[k], KEYS[k + 2], (window + 2) * duration
  -- Everything is read before anything is written: what is of a wrong type fails here.
  local f = redis.call('HMGET', holds, 't', 'n', 'd', 'v', 'e', 'r', 'h:' .. id, 'l:' .. id)
  local t, n, d, v, e = tonumber(f[1] or 0), tonumber(f[2] or 0), tonumber(f[3] or 0), tonumber(f[4] or 0), tonumber(f[5] or 0)
  local c = redis.call('HMGET', key, 't', field, 'e', 'r')
  local sum, own, cellExpiry = tonumber(c[1] or 0), tonumber(c[2] or 0), tonumber(c[3] or 0)
  if not sum or not own or own > sum then error('JUNK not a cell') end
  local ended = redis.call('HGET', KEYS[k + 3], id)
  local record = f[7] or f[8]
  if not record and not ended then ended = redis.call('HGET', KEYS[k + 4], id) end
  local deadline, cost = 0, 0
  if record then deadline, cost = parse(record) end
  local isLate = record and (f[8] ~= false or deadline <= now)
  local code, counted, fields, isBuried, isChanged = 'unknown', 0, {}, false, false
  if record and verb == 'renew' then
    code = isLate and 'expired' or 'renewed'
    if not isLate then
      deadline = math.max(deadline, math.ceil((now + ttl) / GRID) * GRID)
      local isLater = deadline + LATE > e
      if isLater then e = deadline + LATE + SLACK end
      put(holds, e, isLater, 'h:' .. id, string.format('%.0f %.0f', deadline, cost), 'e', e)
      isChanged = true
    end
  elseif record then
    local from = verb == 'settle' and base(k, own, known, c[4], f[6]) or 0
    -- Deleting comes first: Redis never refuses it for want of memory, nor what a script writes after it.
    redis.call('HDEL', holds, (f[7] and 'h:' or 'l:') .. id)
    if f[7] then t, n = t - cost, n - 1 end
    isChanged, isBuried = true, true
    if verb == 'settle' then
      local total = math.min(SATURATED, from + actual)
      sum, own = math.min(MOST, sum + math.max(0, total - own)), math.max(own, total)
      fields = { 't', sum, field, own, 'r', c[4] or f[6] }
      code, counted = isLate and 'late' or 'settled', actual
    else
      code = 'released'
    end
  elseif ended then
    code = string.sub(ended, 1, 1) == 's' and 'settled-before' or 'released-before'
    counted = tonumber(string.match(ended, '^s (%d+)') or 0)
  elseif verb == 'cancel' then
    isBuried, code = true, 'released'
  end
  if isBuried then
    local isNew = redis.call('EXISTS', KEYS[k + 3]) == 0
    put(KEYS[k + 3], (bucket + 2) * BUCKET, isNew, id, code == 'released' and 'r' or string.format('s %.0f', actual))
  end
  if isChanged then
    v = math.max(v + 1, now * 1000 + tonumber(time[2]) % 1000)
    if n == 0 and redis.call('HLEN', holds) == META then
      redis.call('DEL', holds)
    else
      redis.call('HSET', holds, 't', t, 'n', n, 'v', v)
    end
    -- Answers to replays carry it to the other processes.
    fields[#fields + 1], fields[#fields + 2] = 'h', string.format('%.0f %.0f %.0f', v, t, n == 0 and 0 or d)
    fields[#fields + 1], fields[#fields + 2] = 'e', math.max(cellExpiry, expiry)
    -- A hash without a sum is taken for somebody else's.
    if not c[1] and verb ~= 'settle' then fields[#fields + 1], fields[#fields + 2] = 't', sum end
    put(key, expiry, expiry > cellExpiry, unpack(fields))
  end
  return { code, counted, deadline, told(sum), own, t, n == 0 and 0 or d, v }
end

local function run()
  local items = #KEYS / 5
  for i = 1, items do
    local a = 2 + WIDTH * (i - 1)
    local isOfNow = math.floor(now / tonumber(ARGV[a + 1])) == tonumber(ARGV[a + 2])
    if not isOfNow or math.floor(now / BUCKET) ~= bucket then answer[3] = 'window' return end
  end
  for i = 1, items do
    for _, value in ipairs(free(5 * i - 4, 2 + WIDTH * (i - 1))) do answer[#answer + 1] = value end
  end
end

local isOk, failure = pcall(run)
if not isOk then return { ARGV[1], now, type(failure) == 'table' and failure.err or tostring(failure) } end
return answer
