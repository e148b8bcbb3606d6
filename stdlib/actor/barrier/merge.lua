--- Merge policies: how the parameter server merges pushes, above all late and surplus pushes. A policy never delays a
--- worker. It complements a barrier that lets workers fall behind (ksync, backup, partial, quorum). Scripts choose a
--- policy by `param.run { merge = param.merge.NAME(...) }`. The parameter server applies the policies in C++
--- (host/engine/param/push_merger.cpp); the simulator applies them in Lua (actor.sim.train), with `weight`.
local check = require("actor.check")

---@class actor.param.Merge a merge policy
---@field kind "all"|"drop"|"buffer"|"scale"|"mean"

local M = {}

---Merges every push unchanged, however late it is.
---```lua
---print(actor.param.merge.all().kind)  --> all
---```
---@return actor.param.Merge
function M.all() return { kind = "all" } end

---Merges the mean of all pushes of a step when the barrier opens. This is synchronous training: an optimiser with a
---state (momentum, Adam) makes one update for each step of all workers. Works only with a BSP rule and an optimiser as
---`pull`. Under BSP a function as `pull` receives the pushes of a step together anyway.
---```lua
----- param.run { ..., barrier = "bsp", merge = actor.param.merge.mean() }
---print(actor.param.merge.mean().kind)  --> mean
---```
---@return actor.param.Merge
function M.mean() return { kind = "mean" } end

---Drops pushes more than `later_than` steps behind the newest push (Chen et al. 2016, for backup workers). `later_than`
---0 completes barrier.backup and barrier.ksync.
---```lua
----- param.run { ..., merge = actor.param.merge.drop { later_than = 4 } }
---print(actor.param.merge.drop({ later_than = 4 }).kind)  --> drop
---```
---@param options {later_than: integer}
---@return actor.param.Merge
function M.drop(options)
  check.options(options, { later_than = "number" }, "merge.drop")
  check.integer(options.later_than, "later_than", "merge.drop", 0, 2 ^ 31)
  return { kind = "drop", later_than = options.later_than }
end

---Stores pushes until `k` have arrived, and then merges their mean (Nguyen et al. 2022, FedBuff). With barrier.asp this
---is the buffered asynchronous aggregation of the paper.
---```lua
---print(actor.param.merge.buffer({ k = 8 }).kind)  --> buffer
---```
---@param options {k: integer}
---@return actor.param.Merge
function M.buffer(options)
  check.options(options, { k = "number" }, "merge.buffer")
  check.integer(options.k, "k", "merge.buffer", 1, 2 ^ 24)
  return { kind = "buffer", k = options.k }
end

---Multiplies a push that is t steps behind the newest push by (1 + t) ^ -exponent (Xie et al. 2019, FedAsync).
---```lua
---print(actor.param.merge.scale_by_staleness().kind)  --> scale
---```
---@param options? {exponent?: number} default 1
---@return actor.param.Merge
function M.scale_by_staleness(options)
  options = check.optional_options(options, { exponent = "number?" }, "merge.scale_by_staleness")
  check.number(options.exponent or 1, "exponent", "merge.scale_by_staleness", 0, 100)
  return { kind = "scale", exponent = options.exponent or 1 }
end

local makers = {
  all = M.all,
  mean = M.mean,
  drop = function(number) return M.drop { later_than = number } end,
  buffer = function(number) return M.buffer { k = number } end,
  scale = function(number) return M.scale_by_staleness { exponent = number } end,
}

---Parses a policy: "all", "mean", "drop:2", "buffer:8", "scale", "scale:0.5".
---@param text string
---@return actor.param.Merge? policy nil if the text is invalid
local function from(text)
  local kind, argument = text:match("^(%a+):?(.*)$")
  local number = tonumber(argument)
  local maker = makers[kind]
  local bare = kind == "all" or kind == "mean"
  if not maker or (argument ~= "" and (bare or not number)) then return nil end
  local made, policy = pcall(maker, number)
  return made and policy or nil
end

---Returns the factor of an update that is `staleness` steps behind the newest update; nil if the policy drops it.
---@param policy actor.param.Merge of kind "all", "drop" or "scale"
---@param staleness integer
---@return number? weight
local function weight(policy, staleness)
  if policy.kind == "drop" and staleness > policy.later_than then return nil end
  return policy.kind == "scale" and (1 + staleness) ^ -policy.exponent or 1
end

return {
  ---Public as param.merge.
  constructors = M,
  from = from,
  weight = weight,
  kinds = { all = true, drop = true, buffer = true, scale = true, mean = true },
  policies = {
    {
      name = "all", usage = "param.merge.all()",
      summary = "merges every push unchanged",
      definition = "w <- pull(w, u)",
      paper = "none: the default",
    },
    {
      name = "mean", usage = "param.merge.mean()",
      summary = "merges the mean of each step's pushes; with bsp this is synchronous training",
      definition = "w <- pull(w, mean of the pushes of a step)",
      paper = "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, arXiv 2016",
    },
    {
      name = "drop", usage = "param.merge.drop{later_than=STEPS}",
      summary = "drops pushes more than STEPS behind the newest; completes ksync and backup",
      definition = "u counts if its step >= newest - later_than",
      paper = "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, arXiv 2016",
    },
    {
      name = "buffer", usage = "param.merge.buffer{k=K}",
      summary = "merges the mean of every K pushes; with asp this is FedBuff",
      definition = "w <- pull(w, mean of k pushes)",
      paper = "Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba, Federated learning with buffered asynchronous " ..
        "aggregation, AISTATS 2022",
    },
    {
      name = "scale_by_staleness", usage = "param.merge.scale_by_staleness{exponent=A}",
      summary = "weighs a push t steps behind the newest by (1 + t) ^ -A",
      definition = "w <- pull(w, (1 + t) ^ -exponent * u)",
      paper = "Xie, Koyejo, Gupta, Asynchronous federated optimization, arXiv 2019",
    },
  },
}
