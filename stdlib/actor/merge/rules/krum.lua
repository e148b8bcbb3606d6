--- Merges the mean of the `m` pushes with the closest neighbours: of every `n` pushes, or of the pushes of a step
--- under a BSP rule. The score of a push is the sum of its squared distances to the n - f - 1 closest other pushes.
--- At most f pushes may be wrong in any way. m = 1 is Krum; Multi-Krum takes more. Definition: ByzFL, by the group of
--- the authors.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "krum",
  parameters = { { "f", "workers" }, { "m", "pushes", default = 1 }, { "n", "pushes", optional = true } },
  summary = "merges the M pushes that are closest to most others, of a step or of N pushes",
  definition = "w <- pull(w, mean of the m pushes of least score), score = sum of the n - f - 1 least squared distances",
  paper = "Blanchard, El Mhamdi, Guerraoui, Stainer, Machine learning with adversaries, NIPS 2017",
  example = "krum:1:1:5",
  check = function(f, m, n)
    return n and n < f + 2 and ("n has to be at least f + 2, which is %d"):format(f + 2)
      or n and m > n - f and ("m has to be at most n - f, which is %d"):format(n - f) or nil
  end,
}

-- The sum of the squared distances of pushes[i] to its closest others, without the `f` most distant.
local function score(pushes, i, f)
  local distances, sum = {}, 0
  for j, other in ipairs(pushes) do
    local squared = j ~= i and pushes[i]:distance(other) ^ 2
    if squared then distances[#distances + 1] = squared == squared and squared or math.huge end
  end
  table.sort(distances)
  for k = 1, math.max(1, #pushes - f - 1) do sum = sum + (distances[k] or 0) end
  return sum
end

---@param f integer
---@param m integer
---@param n? integer
---@return actor.merge.Rule
function M.make(f, m, n)
  return rules.new { bsp = not n, run = function(view, push)
    if not rules.collected(view, push, n) then return "hold" end
    local pushes, order, chosen = view:with(push), {}, {}
    for i, one in ipairs(pushes) do order[i] = { push = one, score = score(pushes, i, f), place = i } end
    table.sort(order, function(a, b)
      if a.score ~= b.score then return a.score < b.score end
      return a.place < b.place
    end)
    local count = math.min(m, math.max(1, #pushes - f))
    for i, one in ipairs(order) do chosen[one.push] = i <= count and 1 / count or "drop" end
    return chosen
  end }
end

return M
