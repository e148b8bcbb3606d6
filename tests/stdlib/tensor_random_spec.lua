--- Random tensors: equal for a seed however they are drawn, distributed as named, with independent streams.
local tensor = require("actor.tensor")
local rng = require("actor.rng")

local n = spec_mode == "normal" and 40000 or 8000
local f64 = { dtype = "float64" }

-- The call of each distribution, for tests of their common properties.
local draws = {
  uniform = function(shape, options) return tensor.uniform(shape, options) end,
  normal = function(shape, options) return tensor.normal(shape, options) end,
  exponential = function(shape, options) return tensor.exponential(shape, options) end,
  gamma = function(shape, options) return tensor.gamma(shape, 0.7, options) end,
  poisson = function(shape, options) return tensor.poisson(shape, 12, options) end,
  bernoulli = function(shape, options) return tensor.bernoulli(shape, 0.5, options) end,
  integers = function(shape, options) return tensor.integers(shape, -3, 90, options) end,
}

test("a seed gives the same elements at once, in pieces, from the middle, and on any number of threads", function()
  for _, dtype in ipairs({ "float32", "float64" }) do
    for name, draw in pairs(draws) do
      local all = draw({ 70, 1000 }, { seed = 3, stream = 5, dtype = dtype })
      equal(all.dtype, dtype)
      local random, parts = tensor.random { seed = 3, stream = 5 }, {}
      for i, size in ipairs({ 1, 0, 999, 65536, 3464 }) do parts[i] = draw(size, { rng = random, dtype = dtype }) end
      equal(tonumber(random.drawn), 70000)
      local at = 1
      for _, part in ipairs(parts) do
        if not all:flatten():narrow(1, at, part.size):equal(part) then error(name .. " differs in pieces") end
        at = at + part.size
      end
      local middle = tensor.random { seed = 3, stream = 5, drawn = 1234 }
      equal(draw(10, { rng = middle, dtype = dtype }):equal(all:flatten():narrow(1, 1235, 10)), true)
      tensor.set_threads(3)
      equal(draw({ 70, 1000 }, { seed = 3, stream = 5, dtype = dtype }):hash(), all:hash())
      tensor.set_threads(1)
    end
  end
end)

test("elements are the same on every machine", function()
  local function first(draw) return draw(3, { seed = 1, dtype = "float64" }):hash() end
  equal({ first(draws.uniform), first(draws.normal), first(draws.exponential), first(draws.gamma), first(draws.poisson) }, {
    "2f05186fbcb5e64c", "87eb1a086fc9fa69", "a5cf1514c12478a7", "8d396a04ef10e481", "1b982cff8f858228",
  })
end)

test("streams and seeds differ, and streams are not correlated", function()
  local function sample(seed, stream) return tensor.normal(n, { seed = seed, stream = stream, dtype = "float64" }) end
  local x = sample(7, 0)
  for _, other in ipairs({ sample(7, 1), sample(7, 2 ^ 32 - 1), sample(8, 0), sample(2 ^ 53, 0), sample(0xffffffffffffffffULL, 0) }) do
    equal(x:hash() == other:hash(), false)
    near(x:dot(other) / n, 0, 5 / math.sqrt(n))
    -- No correlation with a shift either.
    near(x:narrow(1, 2, n - 1):dot(other:narrow(1, 1, n - 1)) / n, 0, 5 / math.sqrt(n))
  end
  near(x:narrow(1, 2, n - 1):dot(x:narrow(1, 1, n - 1)) / n, 0, 5 / math.sqrt(n))
end)

test("without a seed each call draws new elements; a generator of actor.rng supplies the seed of a call", function()
  equal(tensor.uniform(3):hash() == tensor.uniform(3):hash(), false)
  local first, second = rng(5), rng(5)
  local a = tensor.normal(4, { rng = first })
  equal(a:hash(), tensor.normal(4, { rng = second }):hash())
  equal(a:hash() == tensor.normal(4, { rng = first }):hash(), false)
  equal(tostring(tensor.random { seed = 9, stream = 2 }), "random(seed 9, stream 2, 0 drawn)")
end)

-- The greatest distance of the sample's distribution from `cdf`, times the root of the sample's size: above 1.95 with
-- probability 0.001.
local function distance(t, cdf)
  local values = t:totable()
  table.sort(values)
  local worst, size = 0, #values
  for i, x in ipairs(values) do
    local f = cdf(x)
    worst = math.max(worst, math.abs(f - i / size), math.abs(f - (i - 1) / size))
  end
  return worst * math.sqrt(size)
end

-- erf by its series and continued fraction.
local function normal_cdf(x)
  local z = math.abs(x)
  if z > 8 then return x > 0 and 1 or 0 end
  local term, sum, k = z, z, 1
  repeat
    term = term * z * z / (2 * k + 1)
    sum, k = sum + term, k + 1
  until term < 1e-17 * sum or k > 500
  local half = sum * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
  return x > 0 and 0.5 + half or 0.5 - half
end

-- log of the gamma function (Lanczos), and the regularised lower incomplete one by its series.
local function log_gamma(x)
  local c = { 76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2,
    -0.5395239384953e-5 }
  local sum = 1.000000000190015
  for i = 1, 6 do sum = sum + c[i] / (x + i) end
  return (x + 0.5) * math.log(x + 5.5) - (x + 5.5) + math.log(2.5066282746310005 * sum / x)
end

local function gamma_cdf(alpha)
  return function(x)
    if x <= 0 then return 0 end
    local term, sum, k = 1 / alpha, 1 / alpha, 1
    repeat
      term = term * x / (alpha + k)
      sum, k = sum + term, k + 1
    until term < 1e-16 * sum or k > 10000
    return math.min(1, sum * math.exp(-x + alpha * math.log(x) - log_gamma(alpha)))
  end
end

test("continuous distributions pass the Kolmogorov-Smirnov test", function()
  local seed = 11
  local function check(t, cdf) holds(distance(t, cdf), "<", 1.95) end
  check(tensor.uniform(n, { seed = seed, dtype = "float64" }), function(x) return x end)
  check(tensor.uniform(n, { seed = seed, low = -2, high = 6, dtype = "float64" }), function(x) return (x + 2) / 8 end)
  check(tensor.normal(n, { seed = seed, dtype = "float64" }), normal_cdf)
  check(tensor.normal(n, { seed = seed, mean = 3, std = 0.5, dtype = "float64" }), function(x) return normal_cdf((x - 3) * 2) end)
  check(tensor.exponential(n, { seed = seed, mean = 4, dtype = "float64" }), function(x) return 1 - math.exp(-x / 4) end)
  for _, alpha in ipairs({ 0.05, 0.5, 1, 2.5, 40 }) do
    check(tensor.gamma(n, alpha, { seed = seed, dtype = "float64" }), gamma_cdf(alpha))
  end
  check(tensor.gamma(n, 2, { seed = seed, scale = 3, dtype = "float64" }), function(x) return gamma_cdf(2)(x / 3) end)
end)

-- Chi square of the frequency of each value against its probability; values with less than 5 expected hits form one
-- class. Returns the distance above its mean, in standard deviations.
local function chi_square(t, low, high, probability)
  local counts = {}
  for _, x in ipairs(t:totable()) do counts[x] = (counts[x] or 0) + 1 end
  local sum, classes, rest, rest_hits = 0, 0, 1, t.size
  for x = low, high do
    local expected = t.size * probability(x)
    if expected >= 5 then
      sum, classes = sum + ((counts[x] or 0) - expected) ^ 2 / expected, classes + 1
      rest, rest_hits = rest - probability(x), rest_hits - (counts[x] or 0)
    end
  end
  local expected = t.size * rest
  if expected >= 5 then sum, classes = sum + (rest_hits - expected) ^ 2 / expected, classes + 1 end
  return (sum - (classes - 1)) / math.sqrt(2 * (classes - 1))
end

test("discrete distributions pass the chi-square test", function()
  local seed = 13
  local function check(deviation) holds(deviation, "<", 4.5) end
  for _, mean in ipairs({ 0.2, 3, 9.99, 10, 30, 200 }) do
    check(chi_square(tensor.poisson(n, mean, { seed = seed }), 0, 400, function(k)
      return math.exp(k * math.log(mean) - mean - log_gamma(k + 1))
    end))
  end
  check(chi_square(tensor.bernoulli(n, 0.3, { seed = seed }), 0, 1, function(x) return x == 1 and 0.3 or 0.7 end))
  check(chi_square(tensor.integers(n, -3, 9, { seed = seed }), -3, 9, function() return 1 / 13 end))
  check(chi_square(tensor.choice(7, n, { seed = seed }), 1, 7, function() return 1 / 7 end))
  local weights = { 1, 0, 2, 5, 0 }
  check(chi_square(tensor.choice(5, n, { seed = seed, weights = weights }), 1, 5, function(i) return weights[i] / 8 end))
  -- The first and the second of two values drawn without replacement.
  local random, firsts, pairs_of = tensor.random { seed = seed }, {}, {}
  local rounds = n / 10
  for i = 1, rounds do
    local two = tensor.choice(4, 2, { replace = false, weights = { 1, 2, 3, 4 }, rng = random }):totable()
    assert(two[1] ~= two[2])
    firsts[i], pairs_of[i] = two[1], two[1] * 10 + two[2]
  end
  check(chi_square(tensor.new(firsts), 1, 4, function(i) return i / 10 end))
  check(chi_square(tensor.new(pairs_of), 11, 44, function(x)
    local i, j = math.floor(x / 10), x % 10
    return i ~= j and j >= 1 and j <= 4 and i / 10 * j / (10 - i) or 0
  end))
  -- All orders of three are equally likely.
  for i = 1, rounds do
    local order = tensor.permutation(3, { rng = random }):totable()
    pairs_of[i] = order[1] * 10 + order[2]
  end
  check(chi_square(tensor.new(pairs_of), 11, 33, function(x) return math.floor(x / 10) ~= x % 10 and x % 10 >= 1 and x % 10 <= 3 and 1 / 6 or 0 end))
end)

test("distributions with large means have the right moments", function()
  local t = tensor.poisson(n, 1e6, { seed = 2 })
  near(t:mean(), 1e6, 5 * 1000 / math.sqrt(n))
  near((t - 1e6):norm() / math.sqrt(n), 1000, 5 * 1000 / math.sqrt(2 * n))
  local u = tensor.uniform(n, { seed = 2, low = 1, high = 1 + 2 ^ -20 })
  holds(u:min(), ">=", 1)
  holds(u:max(), "<", 1 + 2 ^ -20)
end)

test("parameters at the ends of their range have the right results", function()
  local options = { seed = 4 }
  equal(tensor.poisson(50, 0, options):sum(), 0)
  equal(tensor.bernoulli(50, 0, options):sum(), 0)
  equal(tensor.bernoulli(50, 1, options):sum(), 50)
  equal(tensor.normal(50, { seed = 4, std = 0, mean = 2 }):totable(), tensor.full(50, 2):totable())
  equal(tensor.uniform(50, { seed = 4, low = 3, high = 3 }):totable(), tensor.full(50, 3):totable())
  equal(tensor.exponential(50, { seed = 4, mean = 0 }):abs():sum(), 0)
  equal(tensor.gamma(50, 2, { seed = 4, scale = 0 }):sum(), 0)
  equal(tensor.gamma(1000, 1e-3, { seed = 4, dtype = "float64" }):is_finite(), true)
  equal(tensor.integers(50, 7, 7, options):totable(), tensor.full(50, 7):totable())
  local wide = tensor.integers(2000, -2 ^ 52, 2 ^ 52, options)
  holds(wide:min(), "<", -2 ^ 51)
  holds(wide:max(), ">", 2 ^ 51)
  for _, shape in ipairs({ {}, 0, 1, { 2, 0 }, { 1, 1 } }) do
    for _, draw in pairs(draws) do equal(draw(shape, options).shape, type(shape) == "table" and shape or { shape }) end
  end
  equal(tensor.permutation(0, options).shape, { 0 })
  equal(tensor.permutation(1, options):totable(), { 1 })
  equal(tensor.choice(0, 0, options).shape, { 0 })
  equal(tensor.choice(3, 0, { weights = { 0, 0, 0 } }).shape, { 0 })
end)

test("permutation, shuffle and choice keep rows together", function()
  local t = tensor.arange(20):view(10, 2)
  for _, source in ipairs({ t, tensor.arange(20):view(2, 10):transpose(), tensor.arange(40):view(20, 2):slice(1, 1, 20, 2) }) do
    local before = source:totable()
    local known = {}
    for _, row in ipairs(before) do known[row[1]] = row[2] end
    local drawn = tensor.permutation(source, { seed = 1 })
    equal(source:totable(), before)
    equal(drawn:sum(1):totable(), source:sum(1):totable())
    for _, row in ipairs(drawn:totable()) do equal(row[2], known[row[1]]) end
    equal(drawn:equal(source:contiguous()), false)
    for _, row in ipairs(tensor.choice(source, 30, { seed = 1 }):totable()) do equal(row[2], known[row[1]]) end
    equal(tensor.shuffle(source, { seed = 1 }):equal(drawn), true)
  end
  local order = tensor.permutation(1000, { seed = 2 })
  equal(order.dtype, "int64")
  local seen = {}
  for _, i in ipairs(order:totable()) do seen[i] = true end
  equal(#seen, 1000)
  equal(tensor.choice(1000, 10, { seed = 2, replace = false }):equal(order:narrow(1, 1, 10)), true)
  equal(tensor.choice(tensor.new({ 5, 6 }), 2, { seed = 3, replace = false }):sum(), 11)
end)

test("whole numbers are int64, or of a given type with their range", function()
  local options = { seed = 5 }
  local draws_of = {
    function(o) return tensor.integers({ 3, 7 }, 1, 200, o) end,
    function(o) return tensor.poisson({ 3, 7 }, 40, o) end,
    function(o) return tensor.permutation(21, o) end,
    function(o) return tensor.choice(200, 21, o) end,
    function(o) return tensor.choice(200, 21, { seed = 5, dtype = o.dtype, replace = false }) end,
    function(o) return tensor.choice(3, 21, { seed = 5, dtype = o.dtype, weights = { 1, 2, 3 } }) end,
  }
  for _, draw in ipairs(draws_of) do
    local whole = draw(options)
    equal(whole.dtype, "int64")
    for _, dtype in ipairs({ "float32", "float64", "int32", "int64", "uint8" }) do
      local t = draw({ seed = 5, dtype = dtype })
      equal({ t.dtype, t:to("int64"):equal(whole) }, { dtype, true })
    end
    raises(function() draw({ seed = 5, dtype = "bool" }) end, "bool does not hold all whole numbers from")
  end
  equal(tensor.bernoulli(3, 0.5).dtype, "float32")
  for _, dtype in ipairs({ "float64", "int32", "int64", "uint8", "bool" }) do
    local t = tensor.bernoulli(100, 0.5, { seed = 5, dtype = dtype })
    equal({ t.dtype, t:to("float32"):equal(tensor.bernoulli(100, 0.5, options)) }, { dtype, true })
  end
end)

test("choice, permutation and shuffle work on rows of every element type", function()
  for _, dtype in ipairs({ "float32", "float64", "int32", "int64", "uint8", "bool" }) do
    local rows = tensor.new({ { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 1 } }):to(dtype)
    for _, t in ipairs({ rows, rows:transpose(), rows:slice(1, 1, 4, 2), rows:slice(1, 1, 1), rows:slice(1, 1, 0) }) do
      local n, options = #t, { seed = 6 }
      equal(tensor.permutation(t, options):equal(t:take(tensor.permutation(n, options))), true)
      if n > 0 then equal(tensor.choice(t, 9, options):equal(t:take(tensor.choice(n, 9, options))), true) end
      local mixed = t:clone()
      equal(tensor.shuffle(mixed, options):equal(tensor.permutation(t, options)), true)
    end
  end
end)

test("wrong arguments are errors at the user's line", function()
  local function wrong(message, body) raises(body, "tensor_random_spec.lua:%d+: " .. message) end
  wrong("bad argument 'low' to tensor.uniform: expected a finite number", function()
    tensor.uniform(2, { low = -math.huge })
  end)
  wrong("bad argument 'high' to tensor.uniform: expected a number of at least 2", function()
    tensor.uniform(2, { low = 2 })
  end)
  wrong("bad argument 'std' to tensor.normal", function() tensor.normal(2, { std = -1 }) end)
  wrong("bad argument 'mean' to tensor.normal", function() tensor.normal(2, { mean = 0 / 0 }) end)
  wrong("bad argument 'mean' to tensor.exponential", function() tensor.exponential(2, { mean = -1 }) end)
  wrong("bad argument 'alpha' to tensor.gamma: expected a number above 0", function() tensor.gamma(2, 0) end)
  wrong("bad argument 'alpha' to tensor.gamma", function() tensor.gamma(2) end)
  wrong("bad argument 'mean' to tensor.poisson: expected a number from 0 to 1000000000", function()
    tensor.poisson(2, 1e10)
  end)
  wrong("bad argument 'mean' to tensor.poisson", function() tensor.poisson(2, -1) end)
  wrong("bad argument 'dtype' to tensor.poisson: float32 does not hold all whole numbers from 0 to 100200000; use 'int64'", function()
    tensor.poisson(2, 1e8, { dtype = "float32" })
  end)
  wrong("bad argument 'p' to tensor.bernoulli: expected a number from 0 to 1", function() tensor.bernoulli(2, 1.1) end)
  wrong("bad argument 'high' to tensor.integers: expected an integer from 3", function() tensor.integers(2, 3, 2) end)
  wrong("bad argument 'dtype' to tensor.integers: uint8 does not hold all whole numbers from 0 to 256; use 'int64'", function()
    tensor.integers(2, 0, 256, { dtype = "uint8" })
  end)
  wrong("bad argument 'dtype' to tensor.integers: uint8 does not hold all whole numbers from %-1", function()
    tensor.integers(2, -1, 1, { dtype = "uint8" })
  end)
  wrong("bad argument 'dtype' to tensor.integers: int32 does not hold", function()
    tensor.integers(2, 0, 2 ^ 31, { dtype = "int32" })
  end)
  wrong("bad argument 'low' to tensor.integers", function() tensor.integers(2, 0.5, 2) end)
  wrong("bad argument 'dtype' to tensor.permutation: float32 does not hold", function()
    tensor.permutation(2 ^ 25, { dtype = "float32" })
  end)
  wrong("bad argument 'dtype' to tensor.permutation: the result has the element type", function()
    tensor.permutation(tensor.ones(2), f64)
  end)
  wrong("bad argument 'population' to tensor.choice: there is nothing", function() tensor.choice(0, 1) end)
  wrong("bad argument 'population' to tensor.choice", function() tensor.choice("x", 1) end)
  wrong("bad argument 'count' to tensor.choice: expected an integer from 0 to 3", function()
    tensor.choice(3, 4, { replace = false })
  end)
  wrong("bad argument 'weights' to tensor.choice: expected one weight for each of 3, got shape %(2%)", function()
    tensor.choice(3, 1, { weights = { 1, 2 } })
  end)
  wrong("bad argument 'weights' to tensor.choice: .* got %-1 at position 2", function()
    tensor.choice(2, 1, { weights = { 1, -1 } })
  end)
  wrong("bad argument 'weights' to tensor.choice: .* at position 1", function()
    tensor.choice(2, 1, { weights = { 0 / 0, 1 } })
  end)
  wrong("bad argument 'weights' to tensor.choice: too few of them are above 0 to draw 2", function()
    tensor.choice(2, 2, { weights = { 0, 1 }, replace = false })
  end)
  wrong("bad argument 'weights' to tensor.choice: too few", function() tensor.choice(2, 2, { weights = { 0, 0 } }) end)
  wrong("bad argument 'weights' to tensor.choice: their sum", function()
    tensor.choice(2, 1, { weights = { 1e308, 1e308 } })
  end)
  wrong("bad argument 'rng' to tensor.normal: expected a generator of tensor.random or actor.rng", function()
    tensor.normal(2, { rng = tensor.ones(2) })
  end)
  wrong("bad argument to tensor.normal: 'rng' and 'seed' exclude", function()
    tensor.normal(2, { rng = rng(1), seed = 1 })
  end)
  wrong("bad argument to tensor.normal: 'rng' and 'stream' exclude", function()
    tensor.normal(2, { rng = rng(1), stream = 1 })
  end)
  wrong("bad argument 'stream' to tensor.normal: a stream belongs to a seed", function()
    tensor.normal(2, { stream = 1 })
  end)
  wrong("bad argument 'stream' to tensor.random: expected an integer from 0 to 4294967295", function()
    tensor.random { seed = 1, stream = 2 ^ 32 }
  end)
  wrong("bad argument 'seed' to tensor.random", function() tensor.random { seed = -1 } end)
  wrong("bad argument 'seed' to tensor.random: expected number or cdata", function() tensor.random {} end)
  wrong("bad argument 'dtype' to tensor.uniform", function() tensor.uniform(2, { dtype = "int32" }) end)
  wrong("unknown option 'sed' to tensor.gamma", function() tensor.gamma(2, 1, { sed = 1 }) end)
  wrong("bad argument 'shape' to tensor.normal", function() tensor.normal("x") end)
end)
