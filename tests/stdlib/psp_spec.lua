--- Convergence bounds, compared with the published minima and with plain evaluations of the formulas, and at the ends
--- of their domain.
local psp = require("actor.psp")
local rng = require("actor.rng")

local T = 10000

-- The formulas as printed, without treatment of rounding.
local function plain(moment, F, a, r, steps)
  local S = (1 - a) / (F * (1 - a) + a - a ^ (steps - r + 1))
  if moment == 1 then return S * (r * (r + 1) / 2 + a * (r + 2) / (1 - a) ^ 2) end
  return S * (r * (r + 1) * (2 * r + 1) / 6 + a * (r ^ 2 + 4) / (1 - a) ^ 3)
end

-- Normalises the probabilities of the lags 0 .. steps to a sum of 1, then sums s^moment.
local function plain_exact(moment, F, a, r, steps, f)
  local total, sum = F, 0
  for s = 0, r do sum = sum + s ^ moment * (f and f[s + 1] or 1) end
  for s = r + 1, steps do
    total, sum = total + a ^ (s - r), sum + s ^ moment * a ^ (s - r)
  end
  return sum / total
end

local bound = { psp.mean_bound, psp.second_moment_bound }
local exact = { psp.exact_mean, psp.exact_second_moment }

local function close(actual, expected, relative, note)
  near(actual, expected, math.abs(expected) * (relative or 1e-11), note)
end

test("the minima agree with the published figure to its digits", function()
  local rows = {
    { 1, 14.66, .505, 62.25, .368 }, { 2, 12.71, .445, 48.57, .313 }, { 4, 11.39, .387, 40.20, .259 },
    { 8, 10.57, .336, 35.38, .213 }, { 16, 10.08, .297, 32.67, .176 }, { 128, 9.58, .238, 29.93, .116 },
  }
  for _, row in ipairs(rows) do
    for moment = 1, 2 do
      local best = psp.best_a({ beta = row[1], r = 4, T = T, moment = moment })
      equal(("%.2f @ %.3f"):format(best.value, best.a), ("%.2f @ %.3f"):format(row[2 * moment], row[2 * moment + 1]))
      equal(best.attained, true)
      close(best.F, best.a ^ (1 / row[1]))
      close(best.value, bound[moment]({ beta = row[1], r = 4, T = T, a = best.a }))
    end
  end
end)

test("no neighbour of a minimum is lower", function()
  for _, beta in ipairs({ 1, 3, 1000, 1e6 }) do
    for _, r in ipairs({ 1, 2, 7, 500 }) do
      for moment = 1, 2 do
        local best = psp.best_a({ beta = beta, r = r, T = 1000, moment = moment })
        for _, factor in ipairs({ 0.5, 0.99, 0.9999, 1.0001, 1.01, 1.1 }) do
          local a = best.a * factor
          if a < 1 then
            local there = bound[moment]({ beta = beta, r = r, T = 1000, a = a })
            assert(there > best.value, ("beta %g, r %g: %.17g at %g, %.17g at %g"):format(beta, r, best.value, best.a, there, a))
          end
        end
      end
    end
  end
end)

test("without staleness the bound has a limit instead of a minimum", function()
  for moment = 1, 2 do
    for _, beta in ipairs({ 1, 5 }) do
      local best = psp.best_a({ beta = beta, r = 0, T = 50, moment = moment })
      equal(best.attained, false)
      near(bound[moment]({ beta = beta, r = 0, T = 50, a = 1e-200 }), best.value, 1e-9)
      assert(bound[moment]({ beta = beta, r = 0, T = 50, a = 0.01 }) > best.value)
    end
  end
end)

test("bounds and exact sums agree with a plain evaluation, for a given a and for a given F", function()
  local random = rng(scratch_seed)
  for _ = 1, 200 do
    local beta, r = random:int(1, 200), random:int(0, 30)
    local steps, a = r + random:int(1, 3000), random:uniform(0.001, 0.98)
    for moment = 1, 2 do
      local F = a ^ (1 / beta)
      close(bound[moment]({ beta = beta, r = r, T = steps, a = a }), plain(moment, F, a, r, steps))
      close(exact[moment]({ beta = beta, r = r, T = steps, a = a }), plain_exact(moment, F, a, r, steps))
      F = random:uniform(0.5, 0.999)
      close(bound[moment]({ beta = beta, r = r, T = steps, F = F }), plain(moment, F, F ^ beta, r, steps), 1e-10)
      close(exact[moment]({ beta = beta, r = r, T = steps, F = F }), plain_exact(moment, F, F ^ beta, r, steps), 1e-10)
    end
  end
  close(psp.a(0.9, 7), 0.9 ^ 7)
end)

test("with the lags' own distribution the exact sums are moments", function()
  local random = rng(scratch_seed)
  for _ = 1, 50 do
    local r, F, beta, f, left = random:int(0, 8), random:uniform(0.1, 0.95), random:int(1, 20), {}, 1
    for s = 0, r do
      local share = s == r and left or random:uniform(0, left)
      f[s + 1], left = share * F, left - share
    end
    for moment = 1, 2 do
      close(exact[moment]({ beta = beta, r = r, T = 300, F = F, f = f }), plain_exact(moment, F, F ^ beta, r, 300, f), 1e-9)
    end
  end
  -- All lags are 1 with probability F; S = 1 / (F + a); then one lag of 2.
  close(psp.exact_mean({ beta = 1, r = 1, T = 2, F = 0.5, f = { 0, 0.5 } }), (0.5 + 2 * 0.5) / 1)
end)

test("no precision is lost for a near 0 or near 1", function()
  -- a -> 1: S -> 1 / (F + T - r) with F -> 1 and 1 - a = u; the exact sums approach means of 0 .. T.
  local u = 2 ^ -50
  local o = { beta = 3, r = 4, T = T, a = 1 - u }
  close(psp.mean_bound(o), 6 / u / u / (1 + T - 4), 1e-9)
  close(psp.second_moment_bound(o), 20 / u / u / u / (1 + T - 4), 1e-9)
  close(psp.exact_mean(o), T * (T + 1) / 2 / (1 + T - 4), 1e-9)
  close(psp.exact_second_moment(o), T * (T + 1) * (2 * T + 1) / 6 / (1 + T - 4), 1e-9)
  -- F near 1: 1 - a is 1000 u; the expression 1 - F^beta would keep four digits of it.
  close(psp.mean_bound({ beta = 1000, r = 4, T = T, F = 1 - u }), 6 / (1000 * u) ^ 2 / (1 + T - 4), 1e-7)
  -- a -> 0: the head of the sum over F; a itself may underflow.
  o = { beta = 1e6, r = 4, T = T, F = 0.5 }
  equal({ psp.mean_bound(o), psp.second_moment_bound(o), psp.exact_mean(o) }, { 20, 60, 20 })
  close(psp.mean_bound({ beta = 1e6, r = 4, T = T, a = 1e-300 }), 10 / (1e-300 ^ 1e-6), 1e-12)
  for _, a in ipairs({ 1e-300, 1e-17, 1 - 2 ^ -53 }) do
    for _, beta in ipairs({ 1, 1e6, 2 ^ 53 }) do
      for _, steps in ipairs({ 5, T, 2 ^ 53 }) do
        for moment = 1, 2 do
          local value = bound[moment]({ beta = beta, r = 4, T = steps, a = a })
          assert(value > 0 and value < 1 / 0, value)
          value = exact[moment]({ beta = beta, r = 4, T = steps, a = a })
          assert(value > 0 and value < 1 / 0, value)
        end
      end
    end
  end
end)

test("a larger sample lowers the bound at the same a", function()
  for moment = 1, 2 do
    for _, a in ipairs({ 0.01, 0.3, 0.9, 0.999 }) do
      local last = 1 / 0
      for _, beta in ipairs({ 1, 2, 3, 10, 100, 1e4, 1e6 }) do
        local value = bound[moment]({ beta = beta, r = 4, T = T, a = a })
        assert(value < last)
        last = value
      end
    end
  end
end)

test("the mean's bound is never below its sum; the second moment's is, but only for a below the crossing", function()
  for r = 0, 9 do
    local crossing = psp.second_moment_crossing(r)
    equal(crossing ~= nil, r >= 2)
    for i = 1, 199 do
      local o = { beta = 8, r = r, T = T, a = i / 200 }
      assert(psp.mean_bound(o) >= psp.exact_mean(o))
      local below = psp.second_moment_bound(o) < psp.exact_second_moment(o)
      equal(below, crossing ~= nil and o.a < crossing, ("r = %d, a = %g"):format(r, o.a))
    end
  end
  near(psp.second_moment_crossing(4), 0.1358, 5e-5)
  near(psp.second_moment_crossing(1e6), 1e-6, 1e-7)
end)

test("the second moment's bound holds for the worst distribution of the lags up to r", function()
  for r = 0, 30 do
    for i = 1, 60 do
      for _, steps in ipairs({ r + 1, r + 5, T }) do
        local o = { beta = 128, r = r, T = steps, a = i / 100 }
        local printed, f = psp.second_moment_bound(o), {}
        for s = 0, r do f[s + 1] = 0 end
        f[r + 1] = o.a ^ (1 / 128)
        o.f = f
        assert(printed >= psp.exact_second_moment(o))
      end
    end
  end
end)

test("the figures agree with stdlib/NOTES.md", function()
  local function miss(r, a, beta)
    local o = { beta = beta, r = r, T = T, a = a }
    return 1 - psp.second_moment_bound(o) / psp.exact_second_moment(o)
  end
  local worst = {}
  for r = 2, 8 do
    worst[r] = 0
    for i = 1, 140 do worst[r] = math.max(worst[r], miss(r, i / 1000, 8)) end
  end
  equal({ ("%.4f"):format(worst[2]), ("%.4f"):format(worst[3]), ("%.4f"):format(worst[4]), ("%.4f"):format(worst[8]) },
    { "0.0049", "0.0082", "0.0064", "0.0017" })
  for r = 4, 8 do assert(worst[r] < worst[r - 1]) end
  local best = psp.best_a({ beta = 128, r = 4, T = T, moment = 2 })
  equal(("%.2f %.2f"):format(best.value, psp.exact_second_moment({ beta = 128, r = 4, T = T, a = best.a })), "29.93 30.04")
end)

test("a curve is a series over a", function()
  local curve = psp.curve({ beta = 4, r = 4, T = T, moment = 2, points = 5, from = 0.1, to = 0.9 })
  equal(curve.name, "beta = 4")
  equal(#curve.x, 5)
  for i, a in ipairs({ 0.1, 0.3, 0.5, 0.7, 0.9 }) do
    near(curve.x[i], a, 1e-12)
    close(curve.y[i], psp.second_moment_bound({ beta = 4, r = 4, T = T, a = a }), 1e-9)
  end
  equal(#psp.curve({ beta = 4, r = 4, T = T }).x, 200)
end)

test("the smallest sample size is the smallest, and the bound holds there", function()
  local random, found, refused = rng(scratch_seed), 0, 0
  for _ = 1, 300 do
    local moment, r, F = random:int(1, 2), random:int(0, 12), 1 - 10 ^ random:uniform(-6, -0.1)
    local steps = r + random:int(1, 20000)
    local function value(beta) return bound[moment]({ beta = beta, r = r, T = steps, F = F }) end
    local wanted = value(math.floor(10 ^ random:uniform(0, 7))) * random:uniform(0.9, 1.1)
    local beta, reached, code = psp.smallest_beta({ bound = wanted, r = r, T = steps, F = F, moment = moment })
    if beta then
      found = found + 1
      equal(reached, value(beta))
      assert(value(beta) <= wanted)
      assert(beta == 1 or value(beta - 1) > wanted)
      for _ = 1, 5 do
        if beta > 1 then assert(value(random:int(1, beta - 1)) > wanted) end
      end
    else
      refused = refused + 1
      equal(code, "unreachable")
      for _ = 1, 30 do assert(value(math.floor(10 ^ random:uniform(0, 9))) > wanted) end
    end
  end
  assert(found > 50 and refused > 5, found .. " found, " .. refused .. " refused")
end)

test("if no sample size reaches the bound the message has the lowest possible bound", function()
  local beta, message, code = psp.smallest_beta({ bound = 9, r = 4, T = T, F = 0.9 })
  equal({ beta, code }, { nil, "unreachable" })
  local least, at = 1 / 0, nil
  for candidate = 1, 200 do
    local value = psp.mean_bound({ beta = candidate, r = 4, T = T, F = 0.9 })
    if value < least then least, at = value, candidate end
  end
  equal(message, ("no sample size brings the bound to 9 at r = 4, F = 0.9: the least is %.6g, at beta = %d"):format(least, at))
  -- A larger sample is not always better there.
  assert(psp.mean_bound({ beta = 10 * at, r = 4, T = T, F = 0.9 }) > least)
  equal((psp.smallest_beta({ bound = -1, r = 0, T = T, F = 0.9 })), nil)
end)

test("an argument outside the domain is an error at the user's line", function()
  local function with(key, value)
    local o = { beta = 4, r = 4, T = 100, a = 0.5 }
    o[key] = value
    return o
  end
  local nan = 0 / 0
  for _, fn in ipairs({ "mean_bound", "second_moment_bound", "exact_mean", "exact_second_moment" }) do
    local f = psp[fn]
    for key, values in pairs({ beta = { 0, -1, 1.5, nan, 1 / 0 }, a = { 0, 1, -0.1, 2, nan }, r = { -1, 0.5, nan, 1 / 0 },
      T = { 4, 3, 0, 10.5, nan, 1 / 0 } }) do
      for _, value in ipairs(values) do
        raises(function() f(with(key, value)) end, "^psp_spec.lua:%d+: bad argument '" .. key .. "' to psp." .. fn)
      end
    end
    raises(function() f({ beta = 4, r = 4, T = 100 }) end, "wants either a or F, not neither")
    raises(function() f({ beta = 4, r = 4, T = 100, a = 0.5, F = 0.5 }) end, "wants either a or F, not both")
    raises(function() f({ beta = 4, r = 4, T = 100, F = 1 }) end, "'F' to psp.%S+ expected a number between 0 and 1, both excluded")
    raises(function() f(with("alpha", 1)) end, "unknown option 'alpha'")
  end
  raises(function() psp.mean_bound(with("beta", 0)) end, "an integer of at least 1 %(with 0 .* diverges%), got 0")
  raises(function() psp.mean_bound(with("T", 4)) end, "more steps than r = 4, got 4")
  raises(function() psp.mean_bound(with("beta", "4")) end, "bad argument 'beta' to psp.mean_bound: expected number, got string")
  raises(function() psp.a(0.5, 0) end, "psp_spec.lua:%d+: bad argument 'beta' to psp.a")
  raises(function() psp.a(nan, 1) end, "bad argument 'F' to psp.a")
  raises(function() psp.best_a({ beta = 1, r = 1, T = 5, moment = 3 }) end, "bad argument 'moment' to psp.best_a")
  raises(function() psp.curve({ beta = 1, r = 1, T = 5, points = 1 }) end, "bad argument 'points' to psp.curve")
  raises(function() psp.curve({ beta = 1, r = 1, T = 5, to = 1 }) end, "bad argument 'to' to psp.curve")
  raises(function() psp.smallest_beta({ bound = nan, r = 1, T = 5, F = 0.5 }) end, "bad argument 'bound'")
  raises(function() psp.exact_mean({ beta = 1, r = 1, T = 5, F = 0.5, f = { 0.5, 0.5 } }) end,
    "psp_spec.lua:%d+: bad argument 'f' to psp.exact_mean: expected shares that add up to F%(r%) = 0.5, got 1")
  raises(function() psp.exact_mean({ beta = 1, r = 1, T = 5, F = 0.5, f = { 0.5 } }) end, "bad argument 'f%[2%]'")
end)
