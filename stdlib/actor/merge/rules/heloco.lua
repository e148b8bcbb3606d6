--- Turns each tensor of a push towards the momentum where they disagree, and makes a step with Nesterov momentum. The
--- workers push the difference of the values at the begin and the end of their local steps, with optim.sgd { lr = 0.7 }
--- as `pull`. The values on the server are the paper's look-ahead values. Definition: code of an author's company.
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---@type actor.policy.Description
local M = {
  name = "heloco",
  parameters = { { "momentum", "fraction", default = 0.9 }, { "rate", "factor", default = 1 } },
  summary = "turns late pushes towards the momentum, tensor by tensor, then a Nesterov step",
  definition = "m' = momentum m + (1 - momentum) g, w <- pull(w, g + 2 momentum m' - momentum m), g = rate turned(u, m)",
  paper = "Al Asif, Diem, Munoz, Wolf, Jannesari, Mazaheri, HeLoCo, arXiv 2026",
  example = "heloco",
}

local agrees, pull, turn, damping, most, epsilon = 0.2, 0.5, 1, 3, 0.5, 1e-8

local function turned(u, m)
  local length, norm = math.sqrt(values.dot(u, u)), math.sqrt(values.dot(m, m))
  if length < epsilon or norm < epsilon then return u end
  local cosine = values.dot(u, m) / (length * norm)
  local trust = length / (length + damping * norm + epsilon)
  if cosine >= agrees then return u end
  if cosine < 0 then return u - m * (math.min(-pull * cosine * trust, most) * cosine * length / norm) end
  local share = math.min(turn * (1 - cosine) * trust, 1)
  local mixed = u * ((1 - share) / length) + m * (share / norm)
  local size = math.sqrt(values.dot(mixed, mixed))
  return size <= epsilon and u or mixed * (length / size)
end

---@param momentum number
---@param rate number
---@return actor.merge.Rule
function M.make(momentum, rate)
  return rules.new { run = function(view, push)
    local before = view.memory.momentum or values.zeros(push.update)
    local g = values.map(function(u, m) return turned(u, m) * rate end, push.update, before)
    local after = values.added(values.added(nil, momentum, before), 1 - momentum, g)
    view.memory.momentum = after
    return view:update({ push }, values.added(values.added(g, 2 * momentum, after), -momentum, before))
  end }
end

return M
