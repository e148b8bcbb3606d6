--- Collects pushes in `b` buffers, worker s in buffer s mod b. When every buffer has a push, the median of the buffers'
--- means becomes an update, or with `q` their mean without the q smallest and q greatest of each element. No worker
--- waits. Definition: the paper, section 3.
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---@type actor.policy.Description
local M = {
  name = "basgd",
  parameters = { { "b", "pushes" }, { "q", "pushes", optional = true } },
  summary = "merges the median of B buffers, each the mean of some workers' pushes",
  definition = "w <- pull(w, median of the means of b buffers), when each has a push",
  paper = "Yang, Li, BASGD: buffered asynchronous SGD for Byzantine learning, ICLR 2021 submission",
  example = "basgd:5",
  check = function(b, q) return q and b <= 2 * q and ("b has to be more than 2 q, which is %d"):format(2 * q) or nil end,
}

---@param b integer
---@param q? integer
---@return actor.merge.Rule
function M.make(b, q)
  return rules.new { run = function(view, push)
    local buffers, filled, means = {}, 0, {}
    for _, one in ipairs(view:with(push)) do
      local i = one.worker % b + 1
      if not buffers[i] then buffers[i], filled = {}, filled + 1 end
      table.insert(buffers[i], one)
    end
    if filled < b then return "hold" end
    for i, pushes in ipairs(buffers) do
      for _, one in ipairs(pushes) do means[i] = values.added(means[i], 1 / #pushes, one.update) end
    end
    return view:update(view:with(push), values.trimmed_mean(means, q or math.floor((b - 1) / 2)))
  end }
end

return M
