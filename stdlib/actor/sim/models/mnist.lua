--- Softmax regression on handwritten digits (actor.data.mnist: the files if present, otherwise generated digits). The
--- nodes receive the images in turn; a joining node shares the images of an earlier node.
local check = require("actor.check")

local kinds = { batch = "number?", test = "number?" }
local drawn = 10000 -- number of generated training images

---@param options? {batch?: integer, test?: integer} batches of 32 images; loss and accuracy use the first 1000
---  test images
---@return actor.sim.Model
return function(options)
  local fn = "models.mnist"
  options = check.optional_options(options, kinds, fn)
  local batch, tested = options.batch or 32, options.test or 1000
  check.integer(batch, "batch", fn, 1, 60000)
  check.integer(tested, "test", fn, 1, 10000)
  local data, nn = require("actor.data"), require("actor.nn")
  local set, test_images, test_classes, nodes
  local net = nn.linear(784, 10, { init = "zeros" })
  local model = nn.sequential { net }
  local positions = {}

  -- The net computes with these parameters, which may be those of another node's copy of the model.
  local function use(params)
    if rawequal(params, net.params) then return end
    for name, value in pairs(params) do net.params[name]:copy_(value) end
  end

  return {
    init = function(_, setup)
      nodes = setup.nodes
      set = data.mnist(nil, { train = drawn, test = tested })
      test_images, test_classes = set.test:batch(data.range(1, math.min(tested, set.test.n)))
      net.params.weight:zero_()
      net.params.bias:zero_()
      return net.params
    end,
    gradient = function(params, id, _, rng)
      use(params)
      local n = set.train.n
      local held = math.max(1, math.floor(n / nodes))
      for i = 1, batch do positions[i] = (id % nodes + rng:below(held) * nodes) % n + 1 end
      model:loss(set.train:batch(positions))
      return { weight = net.grads.weight:clone(), bias = net.grads.bias:clone() }
    end,
    apply = function(params, update, scale)
      params.weight:axpy_(-scale, update.weight)
      params.bias:axpy_(-scale, update.bias)
    end,
    loss = function(params)
      use(params)
      return (nn.cross_entropy(net:forward(test_images), test_classes))
    end,
    accuracy = function(params)
      use(params)
      return model:accuracy(test_images, test_classes)
    end,
    rate = function(updates, count) return 1 / count / math.sqrt(1 + updates / (20 * count)) end,
  }
end
