--- Tensors inside values: they are encoded beside the bytes, and hashes cover their elements.
local actor = require("actor")
local codec = require("actor.codec")
local tensor = require("actor.tensor")

test("tensors in a value survive a round trip", function()
  local weights, bias = tensor.ones({ 3, 4 }), tensor.zeros({ 4 })
  local value = { layers = { { weights = weights, bias = bias, name = "first" } }, step = 7 }
  local bytes, tensors = codec.encode(value)
  equal(#tensors, 2)
  holds(#bytes, "<", 200)
  local copy = codec.decode(bytes, tensors)
  equal(copy.step, 7)
  equal(copy.layers[1].name, "first")
  equal(actor.hash(copy), actor.hash(value))
  equal(tostring(copy.layers[1].weights), tostring(weights))
end)

test("a hash depends on a tensor's elements and shape, not on its memory layout", function()
  equal(actor.hash({ tensor.ones({ 2, 3 }) }), actor.hash({ tensor.ones({ 2, 3 }) }))
  equal(actor.hash(tensor.ones({ 2, 3 })) == actor.hash(tensor.ones({ 3, 2 })), false)
  equal(actor.hash(tensor.ones({ 2 })) == actor.hash(tensor.zeros({ 2 })), false)
  equal(actor.hash(tensor.ones({ 2 })) == actor.hash({ 1, 1 }), false)
end)

test("a tensor as a key is an error", function()
  raises(function() codec.encode({ t = { [tensor.ones({ 1 })] = 1 } }) end, "value.t has a cdata as a key")
end)
