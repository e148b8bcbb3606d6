--- Ticks and places of axes.
local axes = require("actor.plot.axis")
local rng = require("actor.rng")

local free = { low = false, high = false }

local function labels(axis)
  local out = {}
  for i, tick in ipairs(axis.ticks) do out[i] = tick.label end
  return out
end

-- Checks that ticks rise within 0 .. 1 and have different labels, and that the axis covers low .. high.
local function sound(axis, low, high, note)
  local last, seen = -1, {}
  assert(#axis.ticks >= 2, note)
  for _, tick in ipairs(axis.ticks) do
    assert(tick.at > last and tick.at > -1e-9 and tick.at < 1 + 1e-9, note)
    assert(not seen[tick.label], note .. ": " .. tick.label .. " twice")
    last, seen[tick.label] = tick.at, true
  end
  near(axis.ticks[1].at, 0, 1e-9, note)
  near(last, 1, 1e-9, note)
  local first, second = axis.place(low), axis.place(high)
  assert(first >= -1e-9 and second <= 1 + 1e-9 and first <= second, ("%s: %g .. %g"):format(note, first, second))
end

test("linear ticks cover the data with few round steps", function()
  local random = rng(scratch_seed)
  for _ = 1, 500 do
    local middle = random:normal() * 10 ^ random:int(-12, 12)
    local span = 10 ^ random:uniform(-6, 12) * math.max(math.abs(middle) * 1e-6, 1e-12)
    local low, high, count = middle - span / 2, middle + span / 2, random:int(2, 12)
    local axis = axes.linear(low, high, count, free)
    sound(axis, low, high, ("%.17g .. %.17g"):format(low, high))
    assert(#axis.ticks <= count + 3, #axis.ticks)
    assert(axis.place(high) - axis.place(low) > 0.3, "the data fills the axis")
  end
end)

test("linear labels have the digits of the step, a real minus sign, and a factor for long numbers", function()
  equal(labels(axes.linear(0, 1, 5, free)), { "0.0", "0.2", "0.4", "0.6", "0.8", "1.0" })
  equal(labels(axes.linear(-3, 6, 5, free)), { "−4", "−2", "0", "2", "4", "6" })
  equal(labels(axes.linear(0.1, 0.3, 4, free)), { "0.10", "0.15", "0.20", "0.25", "0.30" })
  local axis = axes.linear(0, 3e6, 3, free)
  equal({ labels(axis), axis.factor }, { { "0", "1", "2", "3" }, "×10⁶" })
  axis = axes.linear(0, 4e-5, 4, free)
  equal({ labels(axis), axis.factor }, { { "0", "10", "20", "30", "40" }, "×10⁻⁶" })
  equal(axes.linear(0, 99999, 4, free).factor, "")
end)

test("a single value, the largest and the smallest numbers have an axis", function()
  for _, pair in ipairs({ { 5, 5 }, { 0, 0 }, { -1e9, -1e9 }, { -1.7e308, 1.7e308 }, { 1e308, 1.7e308 }, { 5e-324, 5e-324 },
    { 0, 5e-324 }, { 1e15, 1e15 + 1 }, { -1e-300, 1e-300 } }) do
    local axis = axes.of({}, pair[1], pair[2], 5)
    sound(axis, pair[1], pair[2], ("%g .. %g"):format(pair[1], pair[2]))
  end
  near(axes.of({}, 5, 5, 5).place(5), 0.5)
end)

test("given ends stay, and ticks are between them", function()
  local axis = axes.of({ min = 0.3, max = 1.7 }, -5, 9, 5)
  equal({ axis.place(0.3), axis.place(1.7) }, { 0, 1 })
  equal(labels(axis), { "0.5", "1.0", "1.5" })
  axis = axes.of({ min = 3, max = 700, log = true }, 1, 1e5, 5)
  near(axis.place(3), 0)
  near(axis.place(700), 1)
  equal(labels(axis), { "5", "10", "20", "50", "100", "200", "500" })
  for _, o in ipairs({ { min = 10 }, { max = -10 }, { min = 10, log = true }, { max = 0.01, log = true } }) do
    axis = axes.of(o, 1, 2, 5) -- all data is outside
    near(axis.place(o.min or o.max), o.min and 0 or 1)
  end
end)

test("zero is on the axis when requested", function()
  equal(labels(axes.of({ zero = true }, 40, 100, 5)), { "0", "20", "40", "60", "80", "100" })
  equal(labels(axes.of({ zero = true }, -100, -40, 5)), { "−100", "−80", "−60", "−40", "−20", "0" })
end)

test("logarithmic ticks cover the data at powers, or at 1, 2, 5", function()
  local random = rng(scratch_seed)
  for _ = 1, 500 do
    local low = 10 ^ random:uniform(-200, 200)
    local high = low * 10 ^ random:uniform(0, random:below(2) == 0 and 3 or 90)
    local base = random:below(2) == 0 and 2 or 10
    local axis = axes.logarithmic(low, high, random:int(2, 10), base, free)
    sound(axis, low, high, ("%g .. %g, base %d"):format(low, high, base))
    assert(#axis.ticks <= 12, #axis.ticks)
  end
  equal(labels(axes.logarithmic(1, 1000, 5, 10, free)), { "1", "10", "100", "1000" })
  equal(labels(axes.logarithmic(1, 64, 10, 2, free)), { "1", "2", "4", "8", "16", "32", "64" })
  equal(labels(axes.logarithmic(30, 400, 5, 10, free)), { "20", "50", "100", "200", "500" })
  equal(labels(axes.logarithmic(1e-6, 1e6, 4, 10, free)), { "10⁻⁶", "10⁻³", "10⁰", "10³", "10⁶" })
  sound(axes.logarithmic(5e-324, 1.7e308, 5, 10, free), 1e-300, 1e300, "all numbers")
  sound(axes.logarithmic(7, 7, 5, 10, free), 7, 7, "one value")
end)

test("a place is proportional to the logarithm, and values up to zero have no place", function()
  local axis = axes.logarithmic(1, 1e4, 5, 10, free)
  near(axis.place(1e2), 0.5)
  near(axis.place(1e3), 0.75)
  equal({ axis.place(0) == nil, axis.place(-1) == nil, #axis.minor }, { true, true, 32 })
end)
