--- The rules that `actorhost advise` compares: every rule of the barrier library and of the merge library, with some
--- values of its parameters that suit the number of workers and the duration of a step.
local barrier = require("actor.barrier")
local merge = require("actor.merge")
local util = require("actor.util")

local M = {}

-- Rounds the numbers of `list`, and drops repeated numbers and numbers outside of low .. high.
local function within(low, high, list)
  local out, known = {}, {}
  for _, number in ipairs(list) do
    local whole = math.floor(number + 0.5)
    if whole >= low and whole <= high and not known[whole] then known[whole], out[#out + 1] = true, whole end
  end
  return out
end

-- The specs NAME:NUMBER. `format` has a place for each number, in another form than NAME:%d.
local function each(format, numbers)
  local out = {}
  for i, number in ipairs(numbers) do out[i] = format:format(number) end
  return out
end

-- By name: the specs for n workers and steps of `seconds`.
local barriers = {}

function barriers.bsp() return { "bsp" } end

function barriers.asp() return { "asp" } end

function barriers.ssp() return { "ssp:1", "ssp:2", "ssp:4", "ssp:8", "ssp:16" } end

function barriers.pbsp(n) return each("pbsp:%d", within(1, n - 2, { 1, 2, 4, 8, n / 4 })) end

function barriers.pssp(n)
  local few = within(1, n - 2, { 2, 8 })
  return util.joined(each("pssp:%d:1", few), each("pssp:%d:4", few))
end

function barriers.sample(n) return each("sample:%d:quorum:0.5", within(2, n - 2, { 4 })) end

function barriers.quorum() return { "quorum:0.5", "quorum:0.75", "quorum:0.9", "quorum:0.75:2" } end

function barriers.ksync(n) return each("ksync:%d", within(1, n - 1, { n / 2, 3 * n / 4 })) end

function barriers.backup(n) return each("backup:%d", within(1, n - 1, { 1, n / 8, n / 4 })) end

function barriers.partial() return { "partial:0.5", "partial:0.75" } end

function barriers.delay_bounded(_, seconds)
  return each("delay_bounded:%.3g:bsp", { seconds / 2, 2 * seconds })
end

function barriers.grace(_, seconds) return each("grace:%.3g", { seconds / 4, seconds, 4 * seconds }) end

function barriers.dssp() return { "dssp:1:8" } end

function barriers.assp() return { "assp:1:8" } end

function barriers.elastic() return { "elastic" } end

function barriers.gssp() return { "gssp:1", "gssp:4" } end

function barriers.awpsp(n) return each("awpsp:%d", within(1, n - 2, { 2, 8 })) end

function barriers.sync_switch() return { "sync_switch:10", "sync_switch:50" } end

local merges = {}

function merges.all() return { "all" } end

function merges.mean() return { "mean" } end

function merges.step_mean() return { "step_mean" } end

function merges.drop() return { "drop:1", "drop:4" } end

function merges.ringmaster(n) return each("ringmaster:%d", within(2, 2 ^ 20, { n / 2, n, 2 * n, 4 * n })) end

function merges.scale() return { "scale:0.5", "scale:1" } end

function merges.polynomial() return { "polynomial:0.25", "polynomial:0.5" } end

function merges.decay(n) return each("decay:%.3g", { 0.5 / n, 2 / n }) end

function merges.delay_adaptive() return { "delay_adaptive" } end

-- The pushes of a job with this rule are models. No model of the simulator makes such pushes.
function merges.fedasync() return {} end

function merges.gap_aware() return { "gap_aware" } end

function merges.buffer(n) return each("buffer:%d", within(2, n, { 2, 4, n / 2 })) end

function merges.fedbuff(n) return each("fedbuff:%d", within(2, n, { 4, n / 2 })) end

function merges.rennala(n) return each("rennala:%d", within(2, n, { 4, n / 2, n })) end

function merges.port(n) return each("port:%d", within(2, n, { 4, n / 2 })) end

-- These rules have a momentum of their own. They act like a larger learning rate.
local optimisers = {}

function optimisers.delayed_nesterov(n) return each("delayed_nesterov:%d", within(2, 64, { n })) end

function optimisers.heloco() return { "heloco" } end

-- These rules bear attackers. Without attackers they only lose information.
local robust = {}

function robust.trimmed_mean(n) return each("trimmed_mean:%d:" .. n, within(1, (n - 1) / 2, { 1, n / 4 })) end

function robust.median(n) return each("median:%d", within(3, n, { n })) end

function robust.krum(n) return each("krum:%d:1:" .. n, within(1, (n - 3) / 2, { 1, n / 4 })) end

function robust.basgd(n) return each("basgd:%d", within(2, n, { n / 2 })) end

function robust.clip() return { "clip:1", "clip:10" } end

function robust.centred_clip(n) return each("centred_clip:%d:" .. n, { 1, 10 }) end

local function specs_of(library, tables, workers, seconds)
  local out = {}
  for _, rule in ipairs(library.list()) do
    for _, named in ipairs(tables) do
      if named[rule.name] then out = util.joined(out, named[rule.name](workers, seconds)) end
    end
  end
  return out
end

---Returns the barrier rules to compare.
---@param workers integer
---@param seconds number mean duration of a step
---@return string[]
function M.barriers(workers, seconds) return specs_of(barrier, { barriers }, workers, seconds) end

---Returns the merge rules to compare.
---@param workers integer
---@param options {robust?: boolean, optimisers?: boolean} further rules: against attackers, and with a momentum
---@return string[]
function M.merges(workers, options)
  local tables = { merges }
  if options.robust then tables[#tables + 1] = robust end
  if options.optimisers then tables[#tables + 1] = optimisers end
  return specs_of(merge, tables, workers, 0)
end

return M
