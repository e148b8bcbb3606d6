--- Makes steps with Nesterov momentum when pushes arrive one by one: each push is applied at once as a share 1 / n,
--- and after every n pushes the momentum takes their mean and moves the model. Use optim.sgd { lr = 0.7 } as `pull`.
--- n equal pushes are one step of synchronous Nesterov momentum. `c`, up to 1 / n, spreads a part of the momentum over
--- the pushes. Definition: the paper, algorithm 3.
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---@type actor.policy.Description
local M = {
  name = "delayed_nesterov",
  parameters = {
    { "n", "pushes" }, { "momentum", "fraction", default = 0.9 }, { "c", "fraction", default = 0 },
  },
  summary = "applies 1 / N of each push, and momentum after every N pushes",
  definition = "w <- pull(w, u / n + c momentum m); after n pushes m = momentum m + their mean, then (1 - c n + c) for c",
  paper = "Liu, Chhaparia, Douillard, Kale, Rusu, Shen, Szlam, Ranzato, Asynchronous local-SGD training for language " ..
    "modeling, arXiv 2024",
  example = "delayed_nesterov:4",
  check = function(n, _, c) return c > 1 / n and ("c has to be at most 1 / n, which is %g"):format(1 / n) or nil end,
}

---@param n integer
---@param momentum number
---@param c number
---@return actor.merge.Rule
function M.make(n, momentum, c)
  return rules.new { run = function(view, push)
    local memory, share = view.memory, c
    memory.sum, memory.count = values.added(memory.sum, 1 / n, push.update), (memory.count or 0) + 1
    if memory.count % n == 0 then
      memory.momentum = values.added(memory.sum, momentum, memory.momentum)
      memory.sum, share = nil, 1 - c * n + c
    end
    local update = values.added(nil, 1 / n, push.update)
    return view:update({ push }, values.added(update, share * momentum, memory.momentum))
  end }
end

return M
