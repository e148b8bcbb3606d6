--- A tensor in a script that never required actor.tensor.
local base = require("actor.tensor.base")

test("a tensor has its methods and operators before actor.tensor is loaded", function()
  equal(package.loaded["actor.tensor"], nil)
  local t = base.new()
  equal(type(t.mul), "function")
  equal(t.ndim, 0)
  equal(pcall(function() return t.nothing end), false)
end)
