--- `param.train`: the run of most training jobs. Every worker trains the whole model.
local check = require("actor.check")
local not_finite = require("actor.nn.not_finite")
local util = require("actor.util")

---@class actor.param.Train: actor.param.CommonOptions
---@field net actor.nn.Network or another table with `params` and `grads` by the same names and `load(self, values)`
---@field batch fun(id: integer): ... runs on a worker: returns its next batch, as the arguments of the loss: inputs, labels
---@field loss? fun(net: actor.nn.Network, ...: any): any leaves the gradients in `net.grads`; default `net:loss(...)`
---@field on_nan? "error"|"skip" when the loss is NaN or infinite: raise an error that names the step, the rank and the
---layer (the default), or push gradients of 0

local fn = "param.train"
local made_here = { "init", "schedule", "schedule_local", "push" }

local function check_train(options)
  check.arg(options, "table", "options", fn)
  check.arg(options.batch, "function", "batch", fn)
  check.optional(options.loss, "function", "loss", fn)
  local net = options.net
  local fits = type(net) == "table" and type(net.params) == "table" and type(net.grads) == "table" and net.load
  if not fits then check.wrong("net", fn, "a model with params, grads and load, such as nn.sequential's", net) end
  for _, name in ipairs(made_here) do
    if options[name] ~= nil then check.fail("%s makes '%s' itself; param.run takes one of yours", fn, name) end
  end
end

---@param param table actor.param
---@param options actor.param.Train
---@return actor.param.Summary
return function(param, options)
  check_train(options)
  local net, names = options.net, util.sorted_keys(options.net.params)
  local loss = options.loss or function(model, ...) return model:loss(...) end
  local on_nan, steps = not_finite.check(options.on_nan, fn, false), 0
  local run = util.merged(options)
  run.net, run.batch, run.loss, run.on_nan = nil, nil, nil, nil

  function run.init() return net.params end
  function run.schedule_local() return names end
  function run.push(ctx, entries)
    local values, updates = {}, {}
    for _, entry in ipairs(entries) do values[entry[1]] = entry[2] end
    net:load(values)
    local value = loss(net, options.batch(ctx.id))
    steps = steps + 1
    if type(value) == "number" and value - value ~= 0 then
      if on_nan == "error" then not_finite.raise(fn, net, value, ("step %d"):format(steps)) end
      for _, name in ipairs(names) do net.grads[name]:fill_(0) end
    end
    for i, name in ipairs(names) do updates[i] = { name, net.grads[name] } end
    return updates
  end

  local summary = param.run(run)
  local values, found = {}, param.get(names)
  for i, name in ipairs(names) do values[name] = found[i] end
  net:load(values)
  return summary
end
