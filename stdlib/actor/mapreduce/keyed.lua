--- Operations on pairs by key. One task gets all rows of a key. A key is a text, a number, a boolean, or a tuple: an
--- array of these, compared by its elements. A table of two elements counts as a pair. Rows already partitioned by key
--- over as many partitions do not move: a join after reduce_by_key moves only the rows of its other side.
local check = require("actor.check")
local codec = require("actor.codec")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")
local natives = require("actor.mapreduce.natives")
local readers = require("actor.mapreduce.readers")

local Dataset = datasets.Dataset

-- A wide operation on pairs.
local function keyed(op, parents, options, fields)
  for i, parent in ipairs(parents) do
    if i == 1 then datasets.check(parent, op) end
    if not datasets.is(parent) then check.wrong("other", "mapreduce." .. op, "a dataset", parent) end
  end
  fields.kind, fields.op, fields.parents, fields.keyed, fields.plan = "wide", op, parents, true, datasets.exchange
  fields.partitions = datasets.check_partitions(options, op)
  return datasets.new(fields)
end

---Combines the values of each key with `fn(a, b)`, first within each task, then across tasks. `fn` must be associative
---and commutative.
---```lua
---local mr = actor.mapreduce
---local words = mr.parallelize { "a", "b", "a" }
---local counts = words:map(function(word) return word, 1 end):reduce_by_key(mr.sum)
---for _, pair in ipairs(counts:sort_by_key():collect()) do print(pair[1], pair[2]) end
---
---
-----> a 2
-----> b 1
---```
---@param fn fun(a: any, b: any): any for numbers also mr.sum, mr.min, mr.max or their names: "sum", ...
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:reduce_by_key(fn, options)
  fn = functions.given(fn, "fn", "reduce_by_key")
  return keyed("reduce_by_key", { self }, options, {
    output = "combine", input = "combined", fn = functions.freeze(fn), native = natives.combines(fn) and natives.of(fn) or nil,
  })
end

---Makes a state of each key's values: `seq` adds a value to a state that begins as `zero`, and `comb` combines the
---states of different tasks. The number of these states varies, so `zero` must be neutral for `comb`: 0 for a sum, {}
---for a list.
---```lua
---local mr = actor.mapreduce
---local longest = mr.parallelize({ { "a", "x" }, { "a", "xyz" } }):aggregate_by_key(0,
---  function(state, text) return math.max(state, #text) end, math.max)
---print(longest:first()[2])  --> 3
---```
---@param zero any
---@param seq fun(state: any, value: any): any
---@param comb fun(a: any, b: any): any
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:aggregate_by_key(zero, seq, comb, options)
  seq, comb = functions.given(seq, "seq", "aggregate_by_key"), functions.given(comb, "comb", "aggregate_by_key")
  if zero == nil then check.wrong("zero", "mapreduce.aggregate_by_key", "a value", zero) end
  if zero == 0 and seq == natives.count and comb == natives.sum then
    return self:keys():map(natives.one):reduce_by_key(natives.sum, options)
  end
  local fresh, fn = compile.copies_of(zero), functions.freeze(seq)
  return keyed("aggregate_by_key", { self }, options, {
    output = "combine", input = "combined", fn = fn, merge = functions.freeze(comb),
    initial = function(value) return fn(fresh(), value) end, objects = compile.is_object(zero), signature = codec.hash(zero),
  })
end

---Makes a state of each key's values: `create` makes it from the first value, `merge_value` adds further values, and
---`merge_states` combines the states of different tasks. The number of tasks with values of a key varies, and so do
---their first values. A state may be any value that can travel, and the functions may change it. Same as Spark's
---combineByKey.
---```lua
---local mr = actor.mapreduce
---local means = mr.parallelize({ { "a", 1 }, { "a", 4 } }):combine_by_key(
---  function(value) return { value, 1 } end,
---  function(state, value) return { state[1] + value, state[2] + 1 } end,
---  function(a, b) return { a[1] + b[1], a[2] + b[2] } end)
---local state = means:first()[2]
---print(state[1] / state[2])  --> 2.5
---```
---@param create fun(value: any): any
---@param merge_value fun(state: any, value: any): any
---@param merge_states fun(a: any, b: any): any
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:combine_by_key(create, merge_value, merge_states, options)
  create = functions.freeze(functions.given(create, "create", "combine_by_key"))
  merge_value = functions.given(merge_value, "merge_value", "combine_by_key")
  merge_states = functions.given(merge_states, "merge_states", "combine_by_key")
  return keyed("combine_by_key", { self }, options, {
    output = "combine", input = "combined", fn = functions.freeze(merge_value), merge = functions.freeze(merge_states),
    prepare = create, initial = create, objects = true,
  })
end

---Combines the values of each key as reduce_by_key does, with `zero` once before them.
---```lua
---local counts = actor.mapreduce.parallelize { { "a", 1 }, { "a", 4 } }
---print(counts:fold_by_key(10, function(a, b) return a + b end):first()[2])  --> 15
---```
---@param zero any
---@param fn fun(a: any, b: any): any associative and commutative
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:fold_by_key(zero, fn, options)
  fn = functions.given(fn, "fn", "fold_by_key")
  if zero == nil then check.wrong("zero", "mapreduce.fold_by_key", "a value", zero) end
  local fresh, frozen = compile.copies_of(zero), functions.freeze(fn)
  local folded = self:reduce_by_key(frozen, options):map_values(function(value) return frozen(fresh(), value) end)
  folded.signature = codec.hash(zero)
  return folded
end

---Collects the values of each key: `key, {value, ...}`, in the order of the rows. The values of one key must fit in
---memory. To combine values, use reduce_by_key or aggregate_by_key, which move less data.
---```lua
---local groups = actor.mapreduce.parallelize({ { "a", 1 }, { "b", 2 }, { "a", 3 } }):group_by_key()
---for _, pair in ipairs(groups:sort_by_key():collect()) do print(pair[1], #pair[2]) end
---
---
-----> a 2
-----> b 1
---```
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:group_by_key(options)
  return keyed("group_by_key", { self }, options, { output = "keyed", input = "groups", reader = readers.grouped })
end

---Partitions pairs by the hash of their key, so that keyed operations with as many partitions need not move them again.
---Use it before cache() for a dataset that is joined repeatedly.
---```lua
---local pairs_of = actor.mapreduce.range(1, 100):map(function(n) return n % 10, n end):partition_by(4):cache()
---print(pairs_of:reduce_by_key(actor.mapreduce.max):values():sum())  --> 955
---```
---@param partitions? integer
---@return actor.mapreduce.Dataset
function Dataset:partition_by(partitions)
  return keyed("partition_by", { self }, { partitions = partitions }, { output = "keyed", input = "rows" })
end

local function join(op, keep_left, keep_right)
  local function reader() return readers.joined(keep_left, keep_right) end
  return function(self, other, options)
    if other == nil then check.wrong("other", "mapreduce." .. op, "a dataset", other) end
    return keyed(op, { self, other }, options, { output = "keyed", input = "groups", reader = reader })
  end
end

---Joins two datasets by key: returns `key, {a, b}` for each value a of this dataset and each value b of the other
---dataset with the same key. The values of one key in this dataset must fit in memory; those of the other dataset need
---not.
---```lua
---local mr = actor.mapreduce
---local ages, towns = mr.parallelize { { "Ann", 41 } }, mr.parallelize { { "Ann", "Oslo" }, { "Bo", "Rome" } }
---local pair = ages:join(towns):first()
---print(pair[1], pair[2][1], pair[2][2])  --> Ann 41 Oslo
---```
---@type fun(self: actor.mapreduce.Dataset, other: actor.mapreduce.Dataset, options?: {partitions?: integer}): actor.mapreduce.Dataset
Dataset.join = join("join", false, false)

---Joins as `join` does. A value a of this dataset without a match in the other dataset gives `key, {a}`.
---```lua
---local mr = actor.mapreduce
---local pair = mr.parallelize({ { "Ann", 41 } }):left_outer_join(mr.parallelize { { "Bo", "Rome" } }):first()
---print(pair[1], pair[2][1], pair[2][2])  --> Ann 41 nil
---```
---@type fun(self: actor.mapreduce.Dataset, other: actor.mapreduce.Dataset, options?: {partitions?: integer}): actor.mapreduce.Dataset
Dataset.left_outer_join = join("left_outer_join", true, false)

---Joins as `join` does. A value b of the other dataset without a match in this dataset gives `key, {nil, b}`.
---```lua
---local mr = actor.mapreduce
---local pair = mr.parallelize({ { "Ann", 41 } }):right_outer_join(mr.parallelize { { "Bo", "Rome" } }):first()
---print(pair[1], pair[2][1], pair[2][2])  --> Bo nil Rome
---```
---@type fun(self: actor.mapreduce.Dataset, other: actor.mapreduce.Dataset, options?: {partitions?: integer}): actor.mapreduce.Dataset
Dataset.right_outer_join = join("right_outer_join", false, true)

---Joins as `left_outer_join` and `right_outer_join` together do.
---```lua
---local mr = actor.mapreduce
---print(mr.parallelize({ { "Ann", 41 } }):full_outer_join(mr.parallelize { { "Bo", "Rome" } }):count())  --> 2
---```
---@type fun(self: actor.mapreduce.Dataset, other: actor.mapreduce.Dataset, options?: {partitions?: integer}): actor.mapreduce.Dataset
Dataset.full_outer_join = join("full_outer_join", true, true)

---Returns the pairs whose key the other dataset lacks, duplicates included.
---```lua
---local mr = actor.mapreduce
---local rest = mr.parallelize({ { "a", 1 }, { "b", 2 } }):subtract_by_key(mr.parallelize { { "a", 0 } })
---print(rest:first()[1])  --> b
---```
---@param other actor.mapreduce.Dataset of pairs
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:subtract_by_key(other, options)
  datasets.check(self, "subtract_by_key")
  if not datasets.is(other) then check.wrong("other", "mapreduce.subtract_by_key", "a dataset", other) end
  -- For each key the other dataset's pairs are read first, so the reader knows whether to drop this dataset's pairs.
  return keyed("subtract_by_key", { other, self }, options, { output = "keyed", input = "groups", reader = readers.without })
end

---Collects values from several datasets: returns `key, {{values here, ...}, {values in the other, ...}, ...}` for each
---key of any dataset.
---```lua
---local mr = actor.mapreduce
---local pair = mr.parallelize({ { "a", 1 }, { "a", 2 } }):cogroup(mr.parallelize { { "a", 3 } }):first()
---print(#pair[2][1], #pair[2][2])  --> 2 1
---```
---@param ... actor.mapreduce.Dataset|{partitions?: integer} other datasets, options last
---@return actor.mapreduce.Dataset
function Dataset:cogroup(...)
  local parents, options = { self, ... }, nil
  if not datasets.is(parents[#parents]) and type(parents[#parents]) == "table" then options = table.remove(parents) end
  if #parents < 2 then check.wrong("other", "mapreduce.cogroup", "a dataset", (...)) end
  if #parents > 64 then check.fail("mapreduce.cogroup: at most 64 datasets can be grouped together, got %d", #parents) end
  local function reader() return readers.cogrouped(#parents) end
  return keyed("cogroup", parents, options, { output = "keyed", input = "groups", reader = reader })
end

return Dataset
