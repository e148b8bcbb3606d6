--- Convergence bounds of probabilistic synchronous parallel (Wang, Catterall, Mortier, "Probabilistic Synchronous
--- Parallel", 2017): the mean and the second moment of the lag of a step's updates. gamma_t is the lag at step t; r the
--- staleness that the rule allows (pBSP: 0); T the number of steps; F(r) the probability that a lag is at most r; beta
--- the sample size; a = F(r)^beta.
---
--- The lag s has the probability S f(s) for s <= r, where the f(s) sum to F(r), and S a^(s-r) for s = r+1 .. T, so
---
---     S = (1 - a) / (F(r) (1 - a) + a - a^(T-r+1))
---     mean          <= S (r (r+1) / 2          + a (r + 2)   / (1-a)^2)
---     second moment <  S (r (r+1) (2r+1) / 6   + a (r^2 + 4) / (1-a)^3)
---
--- as printed. The bounds assume f(s) <= 1 for s <= r, and an infinite T beyond it. `exact_mean` and
--- `exact_second_moment` are the sums before these simplifications. The printed mean is never below its sum. The
--- printed second moment is below its sum for r >= 2 and a below `second_moment_crossing(r)` (0.136 for r = 4): by at
--- most 0.6 % for r = 4, and 0.8 % for r = 3, the largest gap. For a near 1 it is (r^2 + 4) / 2 times the sum. It still
--- bounds the second moment, since the f(s) sum to F(r) < 1 and not to r + 1. The figures are in stdlib/NOTES.md.
---
---     psp.best_a{beta = 4, r = 4, T = 10000}.value        -- 11.39
---     psp.smallest_beta{bound = 14, r = 4, T = 10000, F = 0.75}
local check = require("actor.check")

local exp, log, floor, abs = math.exp, math.log, math.floor, math.abs

---@class actor.psp
local M = {}

local largest = 2 ^ 53 -- whole numbers are exact up to here

-- exp(x) - 1 without cancellation near 0 (W. Kahan's form: the errors of exp and log cancel out).
local function expm1(x)
  local e = exp(x)
  if e == 1 then return x end
  if e - 1 == -1 then return -1 end
  return (e - 1) * x / log(e)
end

-- log(1 + x), likewise.
local function log1p(x)
  local e = 1 + x
  if e == 1 or e == 1 / 0 then return e == 1 and x or log(x) end
  return log(e) * x / (e - 1)
end

-- --- arguments ---

local function check_share(value, name, fn)
  if type(value) ~= "number" or not (value > 0 and value < 1) then
    check.wrong(name, fn, "a number between 0 and 1, both excluded (at 1 the bound diverges)", value)
  end
end

local function check_beta(beta, fn)
  if type(beta) ~= "number" or beta ~= floor(beta) or not (beta >= 1 and beta <= largest) then
    check.wrong("beta", fn, "an integer of at least 1 (with 0 the sample is empty, a = 1 and the bound diverges)", beta)
  end
end

local function check_steps(o, fn)
  check.integer(o.r, "r", fn, 0, largest)
  check.integer(o.T, "T", fn, 1, largest)
  if o.T <= o.r then check.fail("bad argument 'T' to %s: expected more steps than r = %d, got %d", fn, o.r, o.T) end
end

local function check_moment(moment, fn)
  if moment ~= nil and moment ~= 1 and moment ~= 2 then check.wrong("moment", fn, "the integer 1 or 2", moment) end
  return moment or 1
end

-- --- the bounds ---

-- The formulas need a, u = 1 - a, l = log(a) and F = F(r), each without loss of precision for a near 0 or 1.
---@class actor.psp.Point
---@field a number
---@field u number
---@field l number
---@field F number

---@return actor.psp.Point
local function at_share(F, beta)
  local l = beta * log(F)
  return { a = exp(l), u = -expm1(l), l = l, F = F }
end

---@return actor.psp.Point
local function at_a(a, beta)
  local l = log(a)
  return { a = a, u = 1 - a, l = l, F = exp(l / beta) }
end

-- The point of x = log(a / (1-a)), with the F for `beta`.
---@return actor.psp.Point
local function at_logit(x, beta)
  local l = -log1p(exp(-x))
  return { a = exp(l), u = 1 / (1 + exp(x)), l = l, F = exp(l / beta) }
end

-- S, the factor that normalises the probabilities of the lags 0 .. T.
local function scale(p, r, T) return p.u / (p.F * p.u - p.a * expm1((T - r) * p.l)) end

local bounds = {
  function(p, r, T)
    return scale(p, r, T) * (r * (r + 1) / 2 + p.a * (r + 2) / p.u / p.u)
  end,
  function(p, r, T)
    return scale(p, r, T) * (r * (r + 1) * (2 * r + 1) / 6 + p.a * (r * r + 4) / p.u / p.u / p.u)
  end,
}

local point_options = { beta = "number", r = "number", T = "number", a = "number?", F = "number?" }
local exact_options = { beta = "number", r = "number", T = "number", a = "number?", F = "number?", f = "table?" }

-- The point given by a and beta, or by F and beta.
local function point_of(o, fn, kinds)
  check.options(o, kinds or point_options, fn)
  check_beta(o.beta, fn)
  check_steps(o, fn)
  if (o.a == nil) == (o.F == nil) then check.fail("%s wants either a or F, not %s", fn, o.a and "both" or "neither") end
  if o.F then
    check_share(o.F, "F", fn)
    return at_share(o.F, o.beta)
  end
  check_share(o.a, "a", fn)
  return at_a(o.a, o.beta)
end

---@class actor.psp.Setting
---@field beta integer sample size, at least 1
---@field r integer staleness, at least 0
---@field T integer steps, more than r
---@field a? number F(r)^beta, in (0, 1); F(r) is then a^(1/beta), as in the published figure
---@field F? number F(r), in (0, 1), instead of a

---Computes the printed bound of the mean of gamma_t, in steps.
---```lua
---print(("%.1f"):format(actor.psp.mean_bound { beta = 10, F = 0.9, r = 4, T = 10000 }))  --> 10.4
---```
---@param o actor.psp.Setting
---@return number
function M.mean_bound(o) return bounds[1](point_of(o, "psp.mean_bound"), o.r, o.T) end

---Computes the printed bound of the mean of gamma_t^2, in steps^2.
---```lua
---print(("%.1f"):format(actor.psp.second_moment_bound { beta = 10, F = 0.9, r = 4, T = 10000 }))  --> 38.5
---```
---@param o actor.psp.Setting
---@return number
function M.second_moment_bound(o)
  return bounds[2](point_of(o, "psp.second_moment_bound"), o.r, o.T)
end

---Computes a = F(r)^beta, the probability that all of `beta` sampled workers have a lag of at most r.
---```lua
---print(actor.psp.a(0.5, 2))  --> 0.25
---```
---@param F number in (0, 1)
---@param beta integer at least 1
---@return number
function M.a(F, beta)
  check_share(F, "F", "psp.a")
  check_beta(beta, "psp.a")
  return exp(beta * log(F))
end

-- --- the bounded sums ---

-- The sums of a^j, j a^j and j^2 a^j over j = 1 .. n, by doubling n: log n steps, without cancellation.
local function power_sums(l, n)
  if n == 0 then return 0, 0, 0 end
  local half = floor(n / 2)
  local s0, s1, s2 = power_sums(l, half)
  local p = exp(half * l)
  s0, s1, s2 = s0 + p * s0, s1 + p * (half * s0 + s1), s2 + p * (half * half * s0 + 2 * half * s1 + s2)
  if n % 2 == 1 then
    local q = exp(n * l)
    s0, s1, s2 = s0 + q, s1 + n * q, s2 + n * n * q
  end
  return s0, s1, s2
end

-- The sum of s^k f(s) over s = 0 .. r; f(s) = 1 without a given f.
local function head(r, k, f, F, fn)
  if not f then return k == 1 and r * (r + 1) / 2 or r * (r + 1) * (2 * r + 1) / 6 end
  local total, sum = 0, 0
  for s = 0, r do
    local share = f[s + 1]
    check.number(share, ("f[%d]"):format(s + 1), fn, 0, 1)
    total, sum = total + share, sum + s ^ k * share
  end
  if abs(total - F) > 1e-9 then
    check.fail("bad argument 'f' to %s: expected shares that add up to F(r) = %.12g, got %.12g", fn, F, total)
  end
  return sum
end

local function exact(o, k, fn)
  local p = point_of(o, fn, exact_options)
  local r = o.r
  local below = head(r, k, o.f, p.F, fn)
  local s0, s1, s2 = power_sums(p.l, o.T - r)
  local beyond = k == 1 and r * s0 + s1 or r * r * s0 + 2 * r * s1 + s2
  return (below + beyond) / (p.F + s0)
end

---@class actor.psp.ExactSetting : actor.psp.Setting
---@field f? number[] f[s + 1] is the probability of the lag s (0 .. r) without sampling; they sum to F(r)

---Computes the sum behind the bound of the mean: S (sum of s f(s) over s <= r + sum of s a^(s-r) over r < s <= T). With
---`f` it is the mean of gamma_t; without, f(s) = 1 as in the bound. The time grows with log T.
---```lua
---print(("%.1f"):format(actor.psp.exact_mean { beta = 10, F = 0.9, r = 4, T = 10000 }))  --> 9.0
---```
---@param o actor.psp.ExactSetting
---@return number
function M.exact_mean(o) return exact(o, 1, "psp.exact_mean") end

---Computes the same sum as `exact_mean` with s^2 in place of s.
---```lua
---print(("%.1f"):format(actor.psp.exact_second_moment { beta = 10, F = 0.9, r = 4, T = 10000 }))  --> 32.6
---```
---@param o actor.psp.ExactSetting
---@return number
function M.exact_second_moment(o) return exact(o, 2, "psp.exact_second_moment") end

---Returns the value of a below which the printed bound of the second moment is smaller than `exact_second_moment`
---without f, for T large against r: there r^2 (1-a)^2 + 2r (1-a) + 1 + a = r^2 + 4. nil for r = 0 and 1, which have no
---such value.
---```lua
---print(("%.3f"):format(actor.psp.second_moment_crossing(4)))  --> 0.136
---```
---@param r integer
---@return number?
function M.second_moment_crossing(r)
  check.integer(r, "r", "psp.second_moment_crossing", 0, largest)
  if r < 2 then return nil end
  local b = 2 * r - 1
  local root = math.sqrt(b * b + 4 * r * r * (r * r + 2))
  return 1 - 2 * (r * r + 2) / (b + root)
end

-- --- over all a ---

local curve_options = {
  beta = "number", r = "number", T = "number", moment = "number?", points = "number?", from = "number?", to = "number?",
}

---Computes the bound over a, as the published figure shows it: a series for `actor.plot.line`.
---```lua
---local curve = actor.psp.curve { beta = 10, r = 4, T = 10000, points = 20 }
---local svg = actor.plot.line { series = { curve }, title = "bound" }
---print(#curve.x)  --> 20
---```
---@param o {beta: integer, r: integer, T: integer, moment?: 1|2, points?: integer, from?: number, to?: number} moment
---  default 1; points (200) of a, evenly from `from` (0.005) to `to` (0.995)
---@return {name: string, x: number[], y: number[]} x is a, y the bound
function M.curve(o)
  local fn = "psp.curve"
  check.options(o, curve_options, fn)
  check_beta(o.beta, fn)
  check_steps(o, fn)
  local bound, points, from, to = bounds[check_moment(o.moment, fn)], o.points or 200, o.from or 0.005, o.to or 0.995
  check.integer(points, "points", fn, 2, 1e7)
  check_share(from, "from", fn)
  check_share(to, "to", fn)
  local x, y = {}, {}
  for i = 1, points do
    x[i] = from + (to - from) * ((i - 1) / (points - 1))
    y[i] = bound(at_a(x[i], o.beta), o.r, o.T)
  end
  return { name = ("beta = %d"):format(o.beta), x = x, y = y }
end

local golden = (math.sqrt(5) - 1) / 2

-- Finds the minimum of f in low .. high, where f first falls and then rises.
local function golden_section(f, low, high)
  local x1, x2 = high - golden * (high - low), low + golden * (high - low)
  local y1, y2 = f(x1), f(x2)
  while high - low > 1e-9 do
    if y1 <= y2 then
      high, x2, y2 = x2, x1, y1
      x1 = high - golden * (high - low)
      y1 = f(x1)
    else
      low, x1, y1 = x1, x2, y2
      x2 = low + golden * (high - low)
      y2 = f(x2)
    end
  end
  local x = (low + high) / 2
  return x, f(x)
end

---Finds the a with the smallest bound, where F(r) is a^(1/beta). Either bound first falls and then rises over a: in
---powers of a, the ratio of the coefficients of the numerator's derivative to those of the denominator's grows with the
---power, so the quotient's derivative changes sign at most once. For r = 0 the bound only rises: then `attained` is
---false, `a` is 0 and `value` is the limit there.
---```lua
---print(("%.2f"):format(actor.psp.best_a({ beta = 10, r = 4, T = 10000 }).a))  --> 0.32
---```
---@param o {beta: integer, r: integer, T: integer, moment?: 1|2} moment default 1
---@return {a: number, F: number, value: number, attained: boolean}
function M.best_a(o)
  local fn = "psp.best_a"
  check.options(o, { beta = "number", r = "number", T = "number", moment = "number?" }, fn)
  check_beta(o.beta, fn)
  check_steps(o, fn)
  local moment = check_moment(o.moment, fn)
  if o.r == 0 then return { a = 0, F = 0, value = o.beta > 1 and 0 or moment, attained = false } end
  local function value_at(x) return bounds[moment](at_logit(x, o.beta), o.r, o.T) end
  -- a from 1e-39 to 1 - 1e-39: wide enough for every beta and r up to 2^53.
  local low, high = -90, 90
  local x, value = golden_section(value_at, low, high)
  if not (value < value_at(low) and value < value_at(high)) then
    error(("%s: no minimum is bracketed for beta = %g, r = %g, T = %g"):format(fn, o.beta, o.r, o.T), 0)
  end
  local p = at_logit(x, o.beta)
  return { a = p.a, F = p.F, value = value, attained = true }
end

-- --- over all sample sizes ---

-- The whole number from 1 to `most` with the smallest value_at, which falls and then rises.
local function least_at(value_at, most)
  local x = exp((golden_section(function(x) return value_at(exp(x)) end, 0, log(most))))
  local best = 1
  for _, beta in ipairs({ floor(x), floor(x) + 1, most }) do
    if beta >= 1 and beta <= most and value_at(beta) < value_at(best) then best = beta end
  end
  return best
end

-- The first whole number from 1 to `last` that satisfies the monotonic `holds`; `last` does.
local function first_that(holds, last)
  local low, high = 1, last
  while low < high do
    local middle = low + floor((high - low) / 2)
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return high
end

---Finds the smallest sample size with a bound of at most `bound`, at the given F(r). A larger size may be worse: at a
---fixed F(r) the bound falls to a minimum and may then rise towards its limit.
---```lua
---print((actor.psp.smallest_beta { bound = 20, r = 4, T = 10000, F = 0.8 }))  --> 2
---```
---@param o {bound: number, r: integer, T: integer, F: number, moment?: 1|2} moment default 1
---@return integer? beta nil if no sample size is enough
---@return number|string value the bound at beta; else a message with the least possible bound
---@return string? code "unreachable"
function M.smallest_beta(o)
  local fn = "psp.smallest_beta"
  check.options(o, { bound = "number", r = "number", T = "number", F = "number", moment = "number?" }, fn)
  check.number(o.bound, "bound", fn)
  check_steps(o, fn)
  check_share(o.F, "F", fn)
  local bound = bounds[check_moment(o.moment, fn)]
  local function value_at(beta) return bound(at_share(o.F, beta), o.r, o.T) end
  -- From 750 / -log F on, a is 0 and larger samples change nothing.
  local most = math.max(1, math.min(largest, math.ceil(750 / -log(o.F))))
  local best = least_at(value_at, most)
  local least = value_at(best)
  if not (least <= o.bound) then
    return nil, ("no sample size brings the bound to %.6g at r = %d, F = %.6g: the least is %.6g, at beta = %d")
      :format(o.bound, o.r, o.F, least, best), "unreachable"
  end
  local beta = first_that(function(beta) return value_at(beta) <= o.bound end, best)
  return beta, value_at(beta)
end

return M
