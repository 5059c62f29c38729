--[[
Purpose    Checks requests of keys against their limits, and counts those that fit under the caller's own components.
Guarantee  All of a call happens at once. A component is raised to absolute totals and never falls, `t` is the sum of all components, or
           the largest exact integer if they are more. A call that was executed before, or that a later total of the same writer has overtaken, counts nothing and answers `repeated`.
           A denial writes nothing but the caller's own totals. No cell is ever without an expiry, and an expiry only moves forward.
           What is not a cell is left as it is.
KEYS       two per call, with one hash tag: the cell of the window, and the cell before it
ARGV       a mark of the caller's; then per call: the component's field, its totals in the two cells, the expiries of the two cells (Unix
           milliseconds), what other regions have counted in the two cells, the milliseconds left of the window, its duration, the
           number n of requests, and n times a limit and a cost, in order of arrival
Answer     the mark; then six per call: n digits, 1 for a request that was counted and 0 for one that was not (or `repeated`, or an
           error's text); sum and component of the cell; sum and component of the cell before it; and `h`. All of them as they hold now

What is checked is relative to the sums. What is written is absolute: the caller's total plus what was counted. A component above the
caller's total means that this is not the first execution, or that a replay was faster.

A request fits beside the living holds of its key as the cell's field `h` ("version cost deadline") has them, or else that of the cell before. They
may be over: what is not counted because of them is for the caller to look at (hold.lua).

A cell is a hash: `t` the sum, `e` the expiry, `h` what hold.lua and free.lua say of the key's holds, and a field for each component.
]]
local MOST = 9007199254740991
local call, mayRun = redis.pcall, redis.acl_check_cmd

-- floor(count * left / duration), exact in doubles: beyond them one digit of 16 bits at a time.
local function weigh(count, left, duration)
  if count * left <= MOST then return math.floor(count * left / duration) end
  local whole = math.floor(count / duration)
  local rest = count - whole * duration
  local high = math.floor(left / 65536)
  local product = rest * high
  local quotient = math.floor(product / duration)
  local low = (product - quotient * duration) * 65536 + rest * (left - high * 65536)
  return whole * left + quotient * 65536 + math.floor(low / duration)
end

-- A client may round an integer near the largest exact one, but not a text.
local function told(sum)
  return sum < 4503599627370496 and sum or string.format('%.0f', sum)
end

local function isCount(number)
  return number and number >= 0 and number <= MOST and number % 1 == 0
end

-- The sum, the component, the expiry and the holds of a cell; 0, 0 and nil if there is none; or nil and an error's text.
local function look(key, field)
  local held = call('HMGET', key, 't', field, 'e', 'h')
  if held.err then return nil, held.err end
  if not held[1] and not held[2] and not held[3] then return 0, 0, nil end
  -- A cell has `t` and `e` from its first write on.
  local sum, component = tonumber(held[1]), tonumber(held[2] or 0)
  if not held[3] or not isCount(sum) or not isCount(component) or component > sum then return nil, 'JUNK not a cell' end
  return sum, component, tonumber(held[3]) or 0, held[4]
end

-- Whether somebody else's hash has the name of a cell that is not there: it must get neither fields nor an expiry.
local function isForeign(key)
  if mayRun and not mayRun('HLEN', key) then return false end
  local length = call('HLEN', key)
  return type(length) == 'number' and length > 0
end

local function errorOf(reply)
  return type(reply) == 'table' and reply.err or nil
end

-- Writes a component and the sum into a cell that expires at `held`, or is not there; answers an error's text, or nil.
local function put(key, field, sum, total, expiry, held)
  -- As text of all their digits: Lua's own would round numbers of more than 14.
  local sumText, totalText = string.format('%.0f', sum), string.format('%.0f', total)
  if held and tonumber(expiry) <= held then return errorOf(call('HSET', key, 't', sumText, field, totalText)) end
  if not held and isForeign(key) then return 'JUNK not a cell' end
  -- Asked before anything is written: see raise.lua.
  if mayRun and not mayRun('PEXPIREAT', key, expiry) then return 'NOPERM no right to pexpireat' end
  local failure = errorOf(call('HSET', key, 't', sumText, field, totalText, 'e', expiry))
  if failure then return failure end
  failure = errorOf(call('PEXPIREAT', key, expiry))
  if failure then call('DEL', key) end
  return failure
end

-- One call, whose arguments begin at `at` and end with those of n requests.
local function admit(key, before, at, n)
  local field = ARGV[at]
  local sum, component, expiry, holds = look(key, field)
  if not sum then return component, 0, 0, 0, 0, '' end
  local sumBefore, componentBefore, expiryBefore, holdsBefore = look(before, field)
  if not sumBefore then return componentBefore, 0, 0, 0, 0, '' end
  holds = holds or holdsBefore or ''
  local total, totalBefore = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if totalBefore > componentBefore then
    sumBefore, componentBefore = math.min(sumBefore + totalBefore - componentBefore, MOST), totalBefore
    local failure = put(before, field, sumBefore, totalBefore, ARGV[at + 4], expiryBefore)
    if failure then return failure, 0, 0, 0, 0, '' end
  end
  if component > total then return 'repeated', told(sum), component, told(sumBefore), componentBefore, holds end
  local others = sum - component
  local fixed, previous = others + ARGV[at + 5], math.min(sumBefore + ARGV[at + 6], MOST)
  if previous > 0 then fixed = fixed + weigh(previous, tonumber(ARGV[at + 7]), tonumber(ARGV[at + 8])) end
  if holds ~= '' then fixed = fixed + (tonumber(string.match(holds, '^%d+ (%d+)')) or 0) end
  local digits = ''
  for i = at + 10, at + 8 + 2 * n, 2 do
    local raised = total + ARGV[i + 1]
    if fixed + raised <= tonumber(ARGV[i]) then
      total, digits = raised, digits .. '1'
    else
      digits = digits .. '0'
    end
  end
  sum = math.min(others + total, MOST)
  if total > component then
    local failure = put(key, field, sum, total, ARGV[at + 3], expiry)
    if failure then return failure, 0, 0, 0, 0, '' end
  end
  return digits, told(sum), total, told(sumBefore), componentBefore, holds
end

local answer, at = { ARGV[1] }, 2
for i = 1, #KEYS, 2 do
  local n = tonumber(ARGV[at + 9])
  local o = #answer
  answer[o + 1], answer[o + 2], answer[o + 3], answer[o + 4], answer[o + 5], answer[o + 6] = admit(KEYS[i], KEYS[i + 1], at, n)
  at = at + 10 + 2 * n
end
return answer
