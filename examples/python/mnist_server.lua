-- The server side of mnist_torch.py: holds the parameters of a network in PyTorch's layout, merges the gradients of
-- workers in Python, and tests the result. Worker 0 is this host's own: it rests, so no rule waits for it.
--
--     actorhost --nnodes 2:5 --rdzv-endpoint 127.0.0.1:17871 -n 1 examples/python/mnist_server.lua
local actor = require "actor"
local param, tensor, data = actor.param, actor.tensor, actor.data

local opt = actor.options { data = "", hidden = 128, updates = 2000, lr = 0.05 }
local rng = actor.rng(actor.seed)

-- The initial values of torch.nn.Linear(inputs, outputs).
local function linear(values, name, inputs, outputs)
  local bound = 1 / math.sqrt(inputs)
  values[name .. ".weight"] = tensor.uniform({ outputs, inputs }, { low = -bound, high = bound, rng = rng })
  values[name .. ".bias"] = tensor.uniform({ outputs }, { low = -bound, high = bound, rng = rng })
end

local names = { "0.weight", "0.bias", "2.weight", "2.bias" }

local summary = param.run {
  init = function()
    local values = {}
    linear(values, "0", 784, opt.hidden)
    linear(values, "2", opt.hidden, 10)
    return values
  end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do
      if id ~= 0 then
        tasks[id] = {}
        for i, name in ipairs(names) do tasks[id][i] = { name } end
      end
    end
    return tasks
  end,
  push = function() error("the workers of this job are programs in Python: python3 examples/python/mnist_torch.py") end,
  pull = actor.optim.sgd { lr = opt.lr },
  barrier = "ssp:4",
  stop = function(ctx) return ctx.updates >= opt.updates end,
}

if actor.id == 0 then
  local set = data.mnist(opt.data ~= "" and opt.data or nil)
  local x, labels = set.test:batch(data.range(1, set.test.n))
  local values = param.get(names)
  local hidden = (x:matmul(values[1]:transpose()) + values[2]):maximum(0)
  local scores = hidden:matmul(values[3]:transpose()) + values[4]
  local right = scores:argmax(2):to("int64"):eq(labels:to("int64")):to("float32"):mean()
  print(("%d updates in %.1f s, %d workers lost"):format(summary.updates, summary.seconds, summary.lost))
  print(("test accuracy: %.2f %%"):format(100 * right))
end
