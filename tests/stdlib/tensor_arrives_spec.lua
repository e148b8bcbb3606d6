--- A tensor that comes to a script which never named actor.tensor.
local base = require("actor.tensor.base")

test("has its methods and operators all the same", function()
  equal(package.loaded["actor.tensor"], nil)
  local t = base.new()
  equal(type(t.mul), "function")
  equal(t.ndim, 0)
  equal(pcall(function() return t.nothing end), false)
end)
