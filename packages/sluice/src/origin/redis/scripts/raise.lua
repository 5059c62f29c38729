--[[
Purpose    Raises components of cells: "my total of this cell is at least so much".
Guarantee  All of a call happens at once. A component never falls, `t` is the sum of all components, or the largest exact integer if
           they are more, and a repeated call changes nothing. No cell is ever without an expiry, and an expiry only moves forward. What is not a cell is left as it is.
KEYS       one a cell
ARGV       a mark of the caller's; then three a cell: the component's field, its total, the expiry in Unix milliseconds
Answer     the mark; then three a cell: the sum and the component that hold now, or an error's text and 0; and `h`. Sums are texts: a client
           may round an integer near the largest exact one

A cell is a hash: `t` the sum, `e` the expiry, `h` what hold.lua and free.lua say of the key's holds, and a field for each component.
]]
local MOST = 9007199254740991

local function isCount(number)
  return number and number >= 0 and number <= MOST and number % 1 == 0
end

-- A cell has `t` and `e` from its first write on. A hash without both is somebody else's: it must get neither fields nor an expiry.
-- Whether there is one can be asked only by a user who has the right to.
local function isForeign(key, held)
  if held[1] then return not held[3] end
  if redis.acl_check_cmd and not redis.acl_check_cmd('HLEN', key) then return false end
  local length = redis.pcall('HLEN', key)
  return type(length) == 'number' and length > 0
end

local function raise(key, field, total, expiry)
  local held = redis.pcall('HMGET', key, 't', field, 'e', 'h')
  if held.err then return held.err, 0, '' end
  local holds = held[4] or ''
  if isForeign(key, held) then return 'JUNK not a cell', 0, '' end
  local sum, component = tonumber(held[1] or 0), tonumber(held[2] or 0)
  if not isCount(sum) or not isCount(component) or component > sum then return 'JUNK not a cell', 0, '' end
  local rise = tonumber(total) - component
  local isLater = tonumber(expiry) > (tonumber(held[3] or 0) or 0)
  local text = held[1] or '0'
  if rise <= 0 and not (isLater and held[1]) then return text, component, holds end
  -- Asked before anything is written: a user who may not set expiries must not leave a cell without one. It is not tried out
  -- instead: a script that has written something is no longer refused when memory runs out.
  if isLater and redis.acl_check_cmd and not redis.acl_check_cmd('PEXPIREAT', key, expiry) then
    return 'NOPERM no right to pexpireat', 0, ''
  end
  local written
  if rise > 0 then
    -- A sum beyond the exact integers would not be a count any more, and the cell be junk from then on.
    sum, component = math.min(sum + rise, MOST), component + rise
    -- As text of all its digits: Lua's own would round a sum of more than 14.
    text = string.format('%.0f', sum)
    if isLater then
      written = redis.pcall('HSET', key, 't', text, field, total, 'e', expiry)
    else
      written = redis.pcall('HSET', key, 't', text, field, total)
    end
  else
    written = redis.pcall('HSET', key, 'e', expiry)
  end
  if type(written) == 'table' and written.err then return written.err, 0, '' end
  if isLater then
    local expires = redis.pcall('PEXPIREAT', key, expiry)
    if type(expires) == 'table' and expires.err then
      redis.pcall('DEL', key)
      return expires.err, 0, ''
    end
  end
  return text, component, holds
end

local answer = { ARGV[1] }
for i, key in ipairs(KEYS) do
  answer[3 * i - 1], answer[3 * i], answer[3 * i + 1] = raise(key, ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1])
end
return answer
