--- PowerSGD: all-reduces of two thin matrices instead of a gradient.
local lockstep = require("actor.reproduce.lockstep")
local optim = require("actor.optim")
local powersgd = require("actor.powersgd")
local runs = require("actor.reproduce.runs")

local workers = 4
local per_point = 20

-- The mean of the workers' gradients by PowerSGD. Each worker is a coroutine that stops at an all-reduce.
local function mean_of(filters, gradients, key)
  local threads, values, out = {}, {}, {}
  for w = 1, workers do
    threads[w] = coroutine.create(function() return "done", filters[w]:mean(gradients[w], key) end)
    values[w] = false
  end
  repeat
    local sum, done
    for w = 1, workers do
      local fine, word, value = coroutine.resume(threads[w], values[w] or nil)
      if not fine then error(word, 0) end
      done = word == "done"
      out[w] = value
      if not done then sum = sum and sum + value or value:clone() end
    end
    for w = 1, workers do values[w] = sum and sum:clone() end
  until done
  return out[1]
end

local function filters_of(rank)
  local out = {}
  for w = 1, workers do
    out[w] = powersgd { rank = rank }
    out[w].size = workers
    out[w].allreduce = function(t) return coroutine.yield("reduce", t) end
  end
  return out
end

local function train(steps, rank)
  return function(seed, rate)
    local run = lockstep.new { workers = workers, seed = seed, hidden = 64 }
    local optimiser, net = optim.sgd { lr = rate, momentum = 0.9 }, run.net
    local filters = rank and filters_of(rank)
    local result = { x = {}, loss = {}, accuracy = {}, values = {} }
    run:record(result, 0)
    local sent = 0
    for step = 1, steps do
      local gradients = {}
      for w = 1, workers do
        run:gradient(w - 1)
        gradients[w] = {}
        for name, grad in pairs(net.grads) do gradients[w][name] = grad:clone() end
      end
      local mean = {}
      for name in pairs(net.params) do
        if filters then
          local own = {}
          for w = 1, workers do own[w] = gradients[w][name] end
          mean[name] = mean_of(filters, own, name)
        else
          mean[name] = gradients[1][name]
          for w = 2, workers do mean[name]:add_(gradients[w][name]) end
          mean[name]:mul_(1 / workers)
          sent = sent + 4 * mean[name].size
        end
      end
      optimiser:step(net.params, mean)
      if step % per_point == 0 then run:record(result, step) end
    end
    result.values.sent = filters and filters[1]:stats().after or sent
    return result
  end
end

---@type actor.reproduce.Paper
return {
  title = "PowerSGD: practical low-rank gradient compression for distributed optimization",
  authors = "Vogels, Karimireddy, Jaggi",
  venue = "NeurIPS 2019",
  read = "the abstract; the compression in the authors' code",
  setting = "convolutional networks and LSTMs on common data sets",
  here = "a network with 64 hidden units on MNIST's digits, 4 workers, momentum 0.9 after the reduction; ranks 1 and 2, with "
    .. "actor.filter.powersgd itself. Time is not measured",
  axis = "steps",
  plots = { { y = "loss", log_y = true }, { y = "accuracy" } },
  runs = function(scale)
    local steps = math.floor(600 * scale)
    local function run(name, rank)
      return runs.custom(name, rank and "rank " .. rank or "no compression", train(steps, rank), runs.around(0.05, 1, 2))
    end
    return { run("sgd"), run("rank 1", 1), run("rank 2", 2) }
  end,
  claims = {
    {
      text = "test performance on par with SGD, rank 2 (error within 10 %)", place = "abstract", measure = "error", of = "rank 2",
      against = "sgd", wants = "as", within = 0.1,
    },
    {
      text = "test performance on par with SGD, rank 1 (error within 10 %)", place = "abstract", measure = "error", of = "rank 1",
      against = "sgd", wants = "as", within = 0.1,
    },
    { text = "sends less than SGD, rank 2 (bytes)", place = "abstract", measure = "sent", of = "rank 2", against = "sgd", wants = "less" },
    {
      text = "reduces the training time", place = "abstract", untested = "the simulated workers have no network",
    },
  },
}
