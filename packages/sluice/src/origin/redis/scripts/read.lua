--[[
Purpose    Reads cells: their sums, and the asker's components of them.
Guarantee  All of a call is read at one moment. Writes nothing, and makes no cell.
KEYS       one a cell
ARGV       a mark of the caller's; then one a cell: the component's field
Answer     the mark; then two a cell: the sum and the component, 0 where there is none; or an error's text and 0
]]
local answer = { ARGV[1] }
for i, key in ipairs(KEYS) do
  local held = redis.pcall('HMGET', key, 't', ARGV[i + 1], 'e')
  if held.err then
    answer[2 * i], answer[2 * i + 1] = held.err, 0
  elseif held[1] and not held[3] then
    -- A cell has both from its first write on.
    answer[2 * i], answer[2 * i + 1] = 'JUNK not a cell', 0
  else
    answer[2 * i], answer[2 * i + 1] = held[1] or 0, held[2] or 0
  end
end
return answer
