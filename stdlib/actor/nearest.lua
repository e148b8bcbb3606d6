--- The word that a misspelt one may have been meant for.

-- How many letters have to be changed, added or taken away to make one word of the other (Levenshtein).
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

---The word of `words` that is at most two letters away, or nil. Capitals do not count.
---@param word string
---@param words string[]
---@return string?
return function(word, words)
  local best, least = nil, 3
  word = word:lower()
  for _, candidate in ipairs(words) do
    local d = distance(word, candidate:lower())
    if word:byte() == candidate:lower():byte() then d = d - 0.5 end -- the first letter is seldom the wrong one
    if d < least or (d == least and best and candidate < best) then best, least = candidate, d end
  end
  return best
end
