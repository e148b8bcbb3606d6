--- Permutations: the target rank of each rank's table in a rotation.
local M = {}

local function target_of(permutation, place, n)
  if permutation == nil then return (place + 1) % n end
  if type(permutation) == "function" then return permutation(place, n) end
  -- Indexed by rank if there is an entry for rank 0, else an array in rank order.
  if permutation[0] ~= nil then return permutation[place] end
  return permutation[place + 1]
end

-- Returns an entry that belongs to none of the n ranks; nil without such an entry.
local function surplus(permutation, n)
  if type(permutation) ~= "table" then return nil end
  local first = permutation[0] ~= nil and 0 or 1
  for key in pairs(permutation) do
    if type(key) ~= "number" or key < first or key >= first + n or key ~= math.floor(key) then return key end
  end
end

---Returns the target rank of each of n ranks, or the reason why this is no permutation.
---@param permutation nil|table|fun(rank: integer, n: integer): integer nil: the next rank
---@param n integer
---@return integer[]|nil targets targets[i] is the target of rank i - 1; nil when this is no permutation
---@return string text the permutation as text, for comparison between ranks; or the error
function M.targets(permutation, n)
  local key = surplus(permutation, n)
  if key ~= nil then return nil, ("it has an entry [%s], and there are %d ranks"):format(tostring(key), n) end
  local targets, from = {}, {}
  for place = 0, n - 1 do
    local called, target = pcall(target_of, permutation, place, n)
    if not called then return nil, ("it failed for rank %d: %s"):format(place, tostring(target)) end
    if target == nil then return nil, ("it has no target for rank %d"):format(place) end
    if type(target) ~= "number" or target ~= math.floor(target) or target < 0 or target >= n then
      return nil, ("it sends rank %d to %s, which is no rank from 0 to %d"):format(place, tostring(target), n - 1)
    end
    if from[target] then return nil, ("it sends both rank %d and rank %d to rank %d"):format(from[target], place, target) end
    from[target] = place
    targets[place + 1] = target
  end
  return targets, permutation == nil and "to the next" or table.concat(targets, ",")
end

return M
