--- pSSP with a sample that favours workers with a high predicted availability. `beta` workers are drawn without
--- replacement, one after the other, each with a probability in proportion to its predicted availability. The
--- prediction is a two-state Markov chain per worker, counted from the failure detector's reports whenever the worker
--- is a candidate. A live worker has the weight of its chance to stay alive, a suspected worker the weight of its
--- chance to return. So a worker with a short failure keeps its weight, and a worker with a long failure loses it. With
--- all workers alive this is pssp(beta, s), but for chance.
---
--- The paper also weighs in correlated failures, freshness and utility, which a view does not have. Each evaluation
--- draws a fresh sample. A worker waits only for workers behind it, so the slowest always passes.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "awpsp",
  parameters = { { "beta", "workers" }, { "s", "steps", default = 0 } },
  summary = "like pssp, but draws workers with a higher predicted availability more often",
  definition = "min of beta workers drawn by availability >= step - s",
  paper = "Behfar, Mortier, Robust synchronisation for federated learning in the face of correlated device failure, " ..
    "arXiv 2026",
  example = "awpsp:10:2",
}

-- Per worker id: its last state and the time of that state, how often it was up and stayed up, was down and returned.
-- By index in the view: the number of the evaluation that last drew the worker.
local function new_state()
  return { at = {}, was_up = {}, up = {}, stayed = {}, down = {}, returned = {}, drawn = {}, evaluation = 0 }
end

-- Returns the chance that the i-th worker is up at the next evaluation; never 0. A new worker counts as up nine times
-- of ten, so that after a few evaluations the weights of constantly live workers hardly differ.
local function availability(view, state, i)
  local id, is_up = view.ids[i], view.alive[i]
  local was_up, up, stayed, down, returned = state.was_up[id], state.up, state.stayed, state.down, state.returned
  if was_up == nil then
    up[id], stayed[id], down[id], returned[id] = 10, 9, 2, 1
  elseif state.at[id] ~= view.now then
    if was_up then
      up[id] = up[id] + 1
      if is_up then stayed[id] = stayed[id] + 1 end
    else
      down[id] = down[id] + 1
      if is_up then returned[id] = returned[id] + 1 end
    end
  end
  state.at[id], state.was_up[id] = view.now, is_up
  if is_up then return stayed[id] / up[id] end
  return returned[id] / down[id]
end

-- Whether `count` more workers are drawn before a worker that is behind, among the workers not drawn yet. The workers
-- with the smallest keys exponential() / weight are such a draw (Efraimidis, Spirakis 2006).
local function rest_is_clear(view, state, count, least)
  local steps, random, drawn, evaluation = view.steps, view.rng, state.drawn, state.evaluation
  local first = math.huge
  for i = 1, view.n do
    if steps[i] < least then
      local key = random:exponential() / availability(view, state, i)
      if key < first then first = key end
    end
  end
  for i = 1, view.n do
    if steps[i] >= least and drawn[i] ~= evaluation and random:exponential() / availability(view, state, i) < first then
      count = count - 1
      if count <= 0 then return true end
    end
  end
  return false
end

-- Draws one worker after the other, until one is behind. Repeats a draw when the worker is refused for its weight or
-- was drawn before; this is fast unless few workers are left.
local function sample_is_clear(view, state, beta, least)
  local n, steps, random, drawn = view.n, view.steps, view.rng, state.drawn
  local evaluation, count = state.evaluation + 1, beta
  state.evaluation = evaluation
  for _ = 1, n do
    local i = random:below(n) + 1
    if drawn[i] ~= evaluation and random:uniform() < availability(view, state, i) then
      if steps[i] < least then return false end
      drawn[i] = evaluation
      count = count - 1
      if count == 0 then return true end
    end
  end
  return rest_is_clear(view, state, count, least)
end

---@param beta integer
---@param s integer
---@return actor.barrier.Rule
function M.make(beta, s)
  local self = rules.new { watches = "event" }

  function self.run(view)
    local state = view.shared[self] or rules.share(view, self, new_state())
    local least = view.step - s
    if beta == 0 or view:min() >= least then return true end
    if beta >= view.n then return false end
    return sample_is_clear(view, state, beta, least)
  end

  return self
end

return M
