--- Require this before the tested modules: `pairs` returns a table's keys in a new order each time, so that no code can
--- rely on the order of this VM.
local rng = math.random
math.randomseed(os.time() + tonumber(tostring({}):match("0x(%x+)"), 16) % 2 ^ 31)

function pairs(t)
  local keys = {}
  for key in next, t do
    local at = rng(#keys + 1)
    keys[#keys + 1] = keys[at]
    keys[at] = key
  end
  local i = 0
  return function()
    while i < #keys do
      i = i + 1
      if t[keys[i]] ~= nil then return keys[i], t[keys[i]] end
    end
  end
end
