--- `net:fit{...}`: training over epochs of shuffled batches.
local check = require("actor.check")
local base = require("actor.tensor.base")
local data = require("actor.data")
local planning = require("actor.data.batches")
local network = require("actor.nn.network")
local not_finite = require("actor.nn.not_finite")
local optim = require("actor.optim")

---@class actor.nn.Fit
---@field x? actor.Tensor|actor.Tensor[] inputs (rows, ...), one for each nn.input; with `y`, or `set`
---@field y? actor.Tensor targets (rows) or (rows, ...)
---@field set? actor.data.Set in place of x and y, or any table with `n` and `batch(self, positions)`
---@field rows? integer[]|actor.data.Positions only these rows, such as this rank's share
---@field epochs? integer default 1
---@field batch? integer rows of a batch, default 32
---@field shuffle? boolean default true: a new order in each epoch
---@field seed? integer of the order, default 0
---@field optimiser? actor.Optimiser default optim.adam()
---@field validation? number|table a share of the rows, held out from training (the last rows), a set, or {x, y}
---@field on_nan? "error"|"skip"|"stop" action for a NaN or infinite loss: raise an error with the step and the layer (the
---default), skip the batch, or end the training
---@field before_step? fun(net: actor.nn.Network, step: integer) called between the backward pass and the update, for
---example to all-reduce `net.flat_grads`
---@field on_epoch? fun(entry: actor.nn.Epoch, net: actor.nn.Network): boolean? called after each epoch; false ends the
---training
---@field progress? boolean default true

---@class actor.nn.Epoch
---@field epoch integer
---@field steps integer updates made so far
---@field loss number mean of the losses of the epoch's batches, each before its update
---@field skipped integer batches skipped because of their loss
---@field seconds number since the training began
---@field validation_loss? number
---@field validation_accuracy? number

local fn = "net:fit"
local known = {
  x = "cdata|table?", y = "cdata?", set = "table?", rows = "cdata|table?", epochs = "number?", batch = "number?",
  shuffle = "boolean?", seed = "number?", optimiser = "table?", validation = "number|table?", on_nan = "string?",
  before_step = "function?", on_epoch = "function?", progress = "boolean?",
}

-- The source of batches: `n` rows and batch(positions) -> x, y.
local function source_of(x, y, set)
  if set then
    if type(set.n) ~= "number" or type(set.batch) ~= "function" then
      check.wrong("set", fn, "a set of actor.data", set)
    end
    return { n = set.n, batch = function(positions) return set:batch(positions) end }
  end
  base.arg(y, "y", fn)
  local several = not base.is_tensor(x)
  local first = several and type(x) == "table" and x[1] or x
  base.arg(first, "x", fn)
  if #first ~= #y then
    check.fail("bad argument to %s: x and y have a different number of rows: %s and %s", fn, base.shape_text(first),
      base.shape_text(y))
  end
  return { n = #y, batch = function(positions)
    if not several then return data.batch(x, positions), data.batch(y, positions) end
    local inputs = {}
    for i, input in ipairs(x) do inputs[i] = data.batch(input, positions) end
    return inputs, data.batch(y, positions)
  end }
end

-- The rows of a source at the positions; all rows for nil.
local function part_of(source, positions)
  return { source = source, positions = positions, n = positions and positions.n or source.n }
end

-- The part to train on, and the part to validate with, or nil.
local function split(options)
  local source = source_of(options.x, options.y, options.set)
  local rows, validation = options.rows, options.validation
  if type(rows) == "table" then rows = planning.as_positions(rows, fn) end
  if type(validation) == "number" then
    check.number(validation, "validation", fn, 0, 1)
    local train, held_out = data.holdout(rows or source.n, { fraction = validation })
    return part_of(source, train), part_of(source, held_out)
  end
  if validation then
    local set = type(validation.n) == "number" and validation or nil
    validation = part_of(source_of(validation[1], validation[2], set))
  end
  return part_of(source, rows), validation
end

-- The loss and the accuracy of a part, computed in batches of rows.
local function evaluate(net, part)
  local plan = data.batches { of = part.positions, n = not part.positions and part.n or nil, size = network.rows_at_once,
    shuffle = false }
  local loss, right = 0, 0
  for number = 1, plan:count() do
    local positions = plan:positions(number)
    local value, found = net:measure(part.source.batch(positions))
    loss = loss + value * positions.n
    right = right and found and right + found
  end
  return loss / part.n, right and right / part.n or nil
end

-- A progress bar; outside a node there is none.
local function new_bar(total, quiet)
  if not package.preload["actor.c.node"] then return { update = function() end, finish = function() end } end
  return require("actor.progress").new { total = total, label = "training", quiet = quiet }
end

---@param net actor.nn.Network
---@param options actor.nn.Fit
---@return actor.nn.Epoch[] history
return function(net, options)
  check.options(options, known, fn)
  local on_nan = not_finite.check(options.on_nan, fn, true)
  local train, validation = split(options)
  if train.n == 0 then check.fail("bad argument to %s: there are no rows to train on", fn) end
  local epochs, size = options.epochs or 1, options.batch or 32
  check.integer(epochs, "epochs", fn, 0)
  check.integer(size, "batch", fn, 1)
  local optimiser = options.optimiser or optim.adam()
  if not optim.is_optimiser(optimiser) then check.wrong("optimiser", fn, "an optimiser of actor.optim", optimiser) end
  local params, grads = { net.flat_params }, { net.flat_grads }
  if not net.flat_params then params, grads = net.params, net.grads end

  local batches = data.batches { of = train.positions, n = not train.positions and train.n or nil, size = size,
    epochs = math.max(epochs, 1), seed = options.seed, shuffle = options.shuffle }
  local per_epoch = batches:count() / math.max(epochs, 1)
  local bar = new_bar(epochs * per_epoch, options.progress == false)
  local began = require("actor").now()
  local history, steps = {}, 0
  for epoch = 1, epochs do
    local sum, count, skipped, stop = 0, 0, 0, false
    for place = 1, per_epoch do
      local number = (epoch - 1) * per_epoch + place
      local loss = net:loss(train.source.batch(batches:positions(number)))
      if loss - loss ~= 0 then
        if on_nan == "error" then not_finite.raise(fn, net, loss, ("step %d (epoch %d)"):format(steps + 1, epoch)) end
        skipped = skipped + 1
        stop = on_nan == "stop"
        if stop then break end
      else
        if options.before_step then options.before_step(net, steps + 1) end
        optimiser:step(params, grads)
        steps, sum, count = steps + 1, sum + loss, count + 1
      end
      bar:update(number, ("epoch %d, loss %.4f"):format(epoch, count > 0 and sum / count or loss))
    end
    local entry = { epoch = epoch, steps = steps, loss = sum / count, skipped = skipped }
    if validation and validation.n > 0 then
      entry.validation_loss, entry.validation_accuracy = evaluate(net, validation)
    end
    entry.seconds = require("actor").now() - began
    history[#history + 1] = entry
    if stop or (options.on_epoch and options.on_epoch(entry, net) == false) then break end
  end
  bar:finish()
  return history
end
