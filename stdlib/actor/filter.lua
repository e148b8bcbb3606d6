--- Compression filters: lossy compression of tensors, made for sent updates and gradients
--- (`param.run { filter = ... }`). A filter can also be used alone: `encode` returns a string, `decode` a tensor. A
--- filter is plain data with methods; the encoding is in C++ (host/engine/filter/filter.hpp) and gives the same bits on
--- all machines.
---
--- Error feedback: the part of a tensor that was not sent, because it was rounded or not selected, is stored and added
--- to the next tensor of the same key, so that nothing is lost over many rounds. Sources: Seide et al., 1-bit
--- stochastic gradient descent, Interspeech 2014; Stich, Cordonnier, Jaggi, Sparsified SGD with memory, NeurIPS 2018;
--- Karimireddy et al., Error feedback fixes SignSGD, ICML 2019.
local check = require("actor.check")
local spelling = require("actor.c.names")
local c = require("actor.c.filter")
local base = require("actor.tensor.base")

---@class actor.filter
local M = {}

---@class actor.filter.Stats
---@field before number bytes of the encoded tensors
---@field after number bytes of the encoded strings
---@field ratio number before / after; 1 if nothing was encoded

---@class actor.Filter plain data, beside its methods
---@field fraction? number top-k, random-k: the share of sent elements
---@field count? integer top-k, random-k: the number of sent elements
---@field random? boolean random-k: random elements are sent
---@field values "raw"|"fp16"|"int8"|"sign" the encoding of values
---@field block? integer int8: elements of a block
---@field feedback? boolean error feedback; nil: on for topk, randk, int8 and sign, which drop a large part
local Filter = check.class("filter:", "count", "fraction", "random", "block", "feedback", "values")

local kinds = { raw = true, fp16 = true, int8 = true, sign = true }

local function make(description) return setmetatable(description, Filter) end

---A filter that changes nothing.
---```lua
---print(#actor.filter.none():encode(actor.tensor.zeros(1000)) > 4000)  --> true
---```
---@return actor.Filter
function M.none() return make { values = "raw" } end

---A filter that sends elements as half-precision floats: 2 bytes each, relative error at most 2^-11. A chunk (1 MiB)
---with an element of 65,520 or more, beyond the range of a half, is sent uncompressed.
---```lua
---print(#actor.filter.fp16():encode(actor.tensor.zeros(1000)) < 2100)  --> true
---```
---@param options? {feedback?: boolean} default false
---@return actor.Filter
function M.fp16(options)
  options = check.optional_options(options, { feedback = "boolean?" }, "filter.fp16")
  return make { values = "fp16", feedback = options.feedback }
end

---A filter that sends a byte for each element: 256 levels between the smallest and the largest element of a block. The
---error is at most half a level, and 0 if all elements are equal. A block with infinity or NaN is sent uncompressed.
---```lua
---local filter = actor.filter.int8 { block = 256 }
---print(actor.filter.decode(filter:encode(actor.tensor.linspace(0, 1, 5))):get(5))  --> 1
---```
---@param options? {feedback?: boolean, block?: integer} feedback: default true; block: elements, 16 .. 65536, default 1024
---@return actor.Filter
function M.int8(options)
  options = check.optional_options(options, { feedback = "boolean?", block = "number?" }, "filter.int8")
  if options.block then check.integer(options.block, "block", "filter.int8", 16, 65536) end
  return make { values = "int8", feedback = options.feedback, block = options.block or 1024 }
end

---A filter that sends a bit for each element, its sign, and for each chunk (1 MiB) the mean magnitude. It needs error
---feedback: the sum of many such updates follows the sum of the true updates. A chunk with infinity or NaN is sent
---uncompressed.
---```lua
---local filter = actor.filter.sign { feedback = false }
---print(filter:decode(filter:encode(actor.tensor.new { 1, -5, 3 })))  --> tensor([ 3., -3.,  3.], float32)
---```
---@param options? {feedback?: boolean} default true
---@return actor.Filter
function M.sign(options)
  options = check.optional_options(options, { feedback = "boolean?" }, "filter.sign")
  return make { values = "sign", feedback = options.feedback }
end

-- A filter that sends a part of the elements.
local function choosing(options, fn, random)
  check.options(options, { fraction = "number?", count = "number?", feedback = "boolean?" }, fn)
  local fraction, count = options.fraction, options.count
  if not fraction == not count then
    check.fail("%s: give fraction= (of the elements) or count= (of elements)%s", fn, fraction and ", not both" or "")
  end
  if count then check.integer(count, "count", fn, 1, 2 ^ 32 - 1) end
  if fraction and not (fraction > 0 and fraction <= 1) then
    check.wrong("fraction", fn, "a number above 0, at most 1 (count= takes a number of elements)", fraction)
  end
  return make { fraction = fraction, count = count, random = random, values = "raw", feedback = options.feedback }
end

---A filter that sends the elements of largest magnitude (among equal elements the first); the others arrive as 0. Give
---`fraction` or `count`.
---```lua
---local filter = actor.filter.topk { count = 1, feedback = false }
---print(actor.filter.decode(filter:encode(actor.tensor.new { 1, -5, 2 })))  --> tensor([ 0., -5.,  0.], float32)
---```
---@param options {fraction?: number, count?: integer, feedback?: boolean} fraction: above 0, at most 1, rounded up to
---  whole elements; feedback: default true
---@return actor.Filter
function M.topk(options) return choosing(options, "filter.topk") end

---A filter that sends random elements: the same elements on all workers that have encoded equally many tensors. The
---others arrive as 0. Source: Stich, Cordonnier, Jaggi, Sparsified SGD with memory, NeurIPS 2018.
---```lua
---local filter = actor.filter.randk { count = 2, feedback = false }
---print(actor.filter.decode(filter:encode(actor.tensor.ones(10))):sum())  --> 2
---```
---@param options {fraction?: number, count?: integer, feedback?: boolean} as of topk
---@return actor.Filter
function M.randk(options) return choosing(options, "filter.randk", true) end

---Makes a compression for all-reduces, not for pushes: `filter:mean(t, key)` returns the approximate mean of the
---tensors of all workers (actor.PowerSgd).
---```lua nodes=2
---local filter = actor.filter.powersgd { rank = 2 }
---local mean = filter:mean(actor.tensor.ones { 100, 100 }, "w")
---print(("%.3f, %d times fewer bytes"):format(mean:mean(), filter:stats().ratio))  --> 1.000, 25 times fewer bytes
---```
---@param options {rank: integer, seed?: integer} rank: columns of the factors; seed: of the first factor, default 1
---@return actor.PowerSgd
function M.powersgd(options) return require("actor.powersgd")(options) end

---Returns whether the value is a filter.
---```lua
---print(actor.filter.is_filter(actor.filter.fp16()), actor.filter.is_filter("fp16"))  --> true false
---```
---@param value any
---@return boolean
function M.is_filter(value) return type(value) == "table" and getmetatable(value) == Filter end

local function selects(filter) return filter.fraction ~= nil or filter.count ~= nil end

-- Both filters as one filter, which applies first `a` and then `b`.
local function joined(a, b)
  if selects(b) and a.values ~= "raw" then
    check.fail("filter.chain: put topk or randk before %s: filter.chain(filter.topk{...}, filter.%s())", a.values, a.values)
  end
  if selects(a) and selects(b) then check.fail("filter.chain: more than one topk or randk; give the smaller one") end
  if a.values ~= "raw" and b.values ~= "raw" then
    check.fail("filter.chain: %s and %s both set the encoding of values; give one", a.values, b.values)
  end
  local chosen, values = selects(b) and b or a, b.values ~= "raw" and b or a
  local feedback = a.feedback
  if feedback == nil or b.feedback then feedback = b.feedback end
  return make {
    fraction = chosen.fraction, count = chosen.count, random = chosen.random, values = values.values,
    block = values.block, feedback = feedback,
  }
end

---Chains filters: `chain(topk{...}, fp16())` sends the selected elements as halves. A chain has at most one topk or
---randk, followed by at most one fp16, int8 or sign. It uses error feedback if one of its filters requests it.
---```lua
---local filter = actor.filter.chain(actor.filter.topk { fraction = 0.01 }, "fp16")
---print(filter)  --> topk:0.01+fp16
---```
---@param ... actor.Filter|string
---@return actor.Filter
function M.chain(...)
  local all = M.none()
  for i = 1, select("#", ...) do
    local filter = select(i, ...)
    if type(filter) ~= "string" and not M.is_filter(filter) then
      check.wrong(("#%d"):format(i), "filter.chain", "a filter or its text", filter)
    end
    all = joined(all, M.from(filter))
  end
  return all
end

-- --- as text ---

local stages = {}

function stages.none(text, number)
  if number then check.fail("filter '%s': none takes no number", text) end
  return M.none()
end

function stages.fp16(text, number)
  if number then check.fail("filter '%s': fp16 takes no number", text) end
  return M.fp16()
end

function stages.int8(text, number)
  if not number then return M.int8() end
  local block = tonumber(number)
  if not block or block ~= math.floor(block) or block < 16 or block > 65536 then
    check.fail("filter '%s': int8:BLOCK takes the elements of a block, 16 to 65536, not '%s'", text, number)
  end
  return M.int8 { block = block }
end

function stages.sign(text, number)
  if number then check.fail("filter '%s': sign takes no number", text) end
  return M.sign()
end

for _, name in ipairs { "topk", "randk" } do
  stages[name] = function(text, number)
    local value = tonumber(number)
    if value and value > 0 and value < 1 then return M[name] { fraction = value } end
    if value and value >= 1 and value == math.floor(value) and value < 2 ^ 32 then return M[name] { count = value } end
    check.fail("filter '%s': %s takes a share of the elements (%s:0.01) or a number of them (%s:100)%s", text, name, name,
      name, number and (", not '%s'"):format(number) or "")
  end
end

local function stage(text, part)
  local name, number = part:match("^%s*([^:]*):(.*)$")
  name = (name or part):match("^%s*(.-)%s*$")
  if stages[name] then return stages[name](text, number) end
  check.fail("filter '%s': '%s' is no filter; known are none, fp16, int8[:BLOCK], sign, topk:SHARE, topk:COUNT, randk:SHARE, " ..
    "randk:COUNT, joined by '+', then @feedback or @plain%s", text, name,
    spelling.suggestion(name, { "none", "fp16", "int8", "sign", "topk", "randk" }))
end

---Reads a filter from its text: `none`, `fp16`, `int8`, `int8:256`, `topk:0.01` (a share), `topk:100` (a number of
---elements), a chain `topk:0.01+fp16`; then `@feedback` or `@plain` for or against error feedback. Returns a given
---filter unchanged.
---```lua
----- param.run { ..., filter = { push = "topk:0.01+fp16", pull = "fp16" } }
---print(actor.filter.from("topk:0.01+fp16"))  --> topk:0.01+fp16
---```
---@param text string|actor.Filter
---@return actor.Filter
function M.from(text)
  if M.is_filter(text) then return text end
  if type(text) ~= "string" then check.wrong("text", "filter.from", "a text like 'topk:0.01+fp16' or a filter", text) end
  local chain, policy = text:match("^(.-)@(.*)$")
  if policy and policy ~= "feedback" and policy ~= "plain" then
    check.fail("filter '%s': '@%s' is neither @feedback nor @plain", text, policy)
  end
  local all = M.none()
  for part in ((chain or text) .. "+"):gmatch("(.-)%+") do all = joined(all, stage(text, part)) end
  if policy then all.feedback = policy == "feedback" end
  return all
end

function Filter:__tostring()
  local parts = {}
  if selects(self) then parts[1] = (self.random and "randk:%s" or "topk:%s"):format(self.count or self.fraction) end
  if self.values == "int8" and self.block ~= 1024 then
    parts[#parts + 1] = ("int8:%d"):format(self.block)
  elseif self.values ~= "raw" then
    parts[#parts + 1] = self.values
  end
  local policy = self.feedback and "@feedback" or self.feedback == false and "@plain" or ""
  return (#parts == 0 and "none" or table.concat(parts, "+")) .. policy
end

-- --- for the engines that send ---

---The description for the C side, with defaults: `feedback` is `otherwise` unless the user has set it.
---@param filter actor.Filter
---@param otherwise boolean
---@return table
local function settled(filter, otherwise)
  if not kinds[filter.values] then check.fail("a filter's values are 'raw', 'fp16', 'int8' or 'sign', not '%s'", tostring(filter.values)) end
  local feedback = filter.feedback
  if feedback == nil then feedback = otherwise end
  return { fraction = filter.fraction, count = filter.count, random = filter.random, values = filter.values, block = filter.block,
    feedback = feedback and (selects(filter) or filter.values ~= "raw") }
end

-- The default of `feedback` for updates: whether the filter drops a large part of them.
local function leaves_much(filter) return selects(filter) or filter.values == "int8" or filter.values == "sign" end

---Both filters of a parameter server, checked: `push` for updates, `pull` for values.
---@param filters {push?: actor.Filter|string, pull?: actor.Filter|string}
---@param replaces boolean pushes are new values rather than updates
---@return {push: table, pull: table}
function M.of_param(filters, replaces)
  local push, pull = M.from(filters.push or "none"), M.from(filters.pull or "none")
  if selects(push) and replaces then
    check.fail("param.run, filter.push: topk and randk send parts of updates, but without pull= a push is the new value, so "
      .. "all unselected elements would become 0; give pull= (actor.optim), or fp16 or int8")
  end
  if selects(pull) then
    check.fail("param.run, filter.pull: with topk or randk all elements of a value but the sent would be 0; give fp16 or int8")
  end
  if pull.values == "sign" then
    check.fail("param.run, filter.pull: of values the signs are not enough; give fp16 or int8")
  end
  if push.values == "sign" and replaces then
    check.fail("param.run, filter.push: without pull= a push is the new value, and its signs are not enough; give fp16 or int8")
  end
  -- Values use feedback too: the sign of an error below one level then changes, and the errors of gradients cancel out.
  return { push = settled(push, not replaces and leaves_much(push)), pull = settled(pull, leaves_much(pull)) }
end

-- The state of filters that have encoded something: the C side's state and the counts. A filter itself is plain data.
local states = setmetatable({}, { __mode = "k" })

local function state_of(filter)
  local state = states[filter] or { c = c.open(settled(filter, leaves_much(filter))), before = 0, after = 0 }
  states[filter] = state
  return state
end

---Encodes a tensor as a string of fewer bytes. With error feedback (the default of topk and int8) the dropped part is
---stored under `key` and added to the next tensor of that key. A tensor of another size or type resets the stored part.
---```lua
---local filter = actor.filter.fp16()
---local bytes = filter:encode(actor.tensor.new { 1, 2, 3 }, "w")
---print(actor.filter.decode(bytes))  --> tensor([1., 2., 3.], float32)
---```
---@param tensor actor.Tensor
---@param key? string|number all tensors without a key share one key
---@return string
function Filter:encode(tensor, key)
  base.arg(tensor, "tensor", "filter:encode")
  local state = state_of(self)
  local bytes, before = c.encode(state.c, tensor, key)
  state.before = state.before + before
  state.after = state.after + #bytes
  return bytes
end

---Decodes an encoded string. The string describes its encoding, so no filter is needed.
---```lua
---local tensor, message, code = actor.filter.decode("not an encoded tensor")
---print(tensor, code)  --> nil bad_data
---```
---@param bytes string
---@return actor.Tensor? tensor of the same shape and type
---@return string? message what is wrong with the bytes
---@return string? code "bad_data"
function M.decode(bytes)
  check.arg(bytes, "string", "bytes", "filter.decode")
  return c.decode(bytes)
end

---As `filter.decode`.
---```lua
---local filter = actor.filter.fp16()
---print(filter:decode(filter:encode(actor.tensor.ones(2))))  --> tensor([1., 1.], float32)
---```
---@param bytes string
---@return actor.Tensor?
---@return string? message
---@return string? code
function Filter:decode(bytes) -- luacheck: ignore self
  check.arg(bytes, "string", "bytes", "filter:decode")
  return c.decode(bytes)
end

---Returns the numbers of bytes before and after encoding by this filter.
---```lua
---local filter = actor.filter.fp16()
---filter:encode(actor.tensor.zeros(1000))
---print(filter:stats().before)  --> 4000
---```
---@return actor.filter.Stats
function Filter:stats()
  local state = states[self] or { before = 0, after = 0 }
  return { before = state.before, after = state.after, ratio = state.after == 0 and 1 or state.before / state.after }
end

---Resets the stored parts of error feedback and the counts of `stats`.
---```lua
---local filter = actor.filter.int8()
---filter:encode(actor.tensor.ones(1000))
---filter:reset()
---print(filter:stats().before)  --> 0
---```
function Filter:reset()
  local state = states[self]
  if not state then return end
  c.reset(state.c)
  state.before, state.after = 0, 0
end

return M
