-- The time of loops over FFI arrays and tables, in ns an element, with and without fused loads (bindings/vm/NOTES.md).
--
--   luajit tests/bench/fused_loads.lua; luajit -O-fuse tests/bench/fused_loads.lua
local ffi = require "ffi"

local n, turns, passes = 4096, 7, 2000
local a, b, t = ffi.new("float[?]", n), ffi.new("double[?]", n), {}
for i = 0, n - 1 do a[i], b[i], t[i + 1] = i % 7, i % 5, i % 7 end

-- Each calls its loop `count` times over the arrays a (float) and b (double), or over the table t.
local loops = {
  { "sum of doubles", function(count)
    local sum = 0
    for _ = 1, count do
      for i = 0, n - 1 do sum = sum + b[i] end
    end
    return sum
  end },
  { "b = b + 0.5 a", function(count)
    for _ = 1, count do
      for i = 0, n - 1 do b[i] = b[i] + 0.5 * a[i] end
    end
  end },
  { "product", function(count)
    local sum = 0
    for _ = 1, count do
      for i = 0, n - 1 do sum = sum + b[i] * a[i] end
    end
    return sum
  end },
  { "sum of a table", function(count)
    local sum = 0
    for _ = 1, count do
      for i = 1, n do sum = sum + t[i] end
    end
    return sum
  end },
  { "counts in a table", function(count)
    local counts = { 0, 0, 0, 0, 0, 0, 0 }
    for _ = 1, count do
      for i = 1, n do counts[t[i] + 1] = counts[t[i] + 1] + 1 end
    end
  end },
}

for _, loop in ipairs(loops) do
  local best = math.huge
  for _ = 1, turns do
    local before = os.clock()
    loop[2](passes)
    best = math.min(best, os.clock() - before)
  end
  print(("%-18s %.2f"):format(loop[1], best * 1e9 / (passes * n)))
end
