-- The convolutional net for MNIST of mnist_cnn.lua and mnist_barriers.lua: 6.4 million weights.
local nn = require("actor").nn

-- Returns a new net with the weights of `seed`. `stream`, the rank, varies the units that dropout drops. `small`: a net
-- of 26,000 weights with the same kinds of layers.
return function(seed, stream, small)
  local filters, hidden = small and 4 or 32, small and 32 or 1024
  return nn.input { 28, 28, 1 }:normalisation { decay = 0.9 }:conv2d { 5, 5, 1, filters, stride = 1, act = "relu" }
    :max_pool2d { 2, 2 }:dropout(0.1):fully_connected(hidden, "relu"):linear(10, "softmax")
    :network { seed = seed, stream = stream }
end
