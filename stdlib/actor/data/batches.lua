--- Assigns the batches of training to workers: the next batch, the batches of each worker, the unfinished batches of
--- failed workers. A batch is a number from 1 to `count()`. Nodes with the same batches compute the same samples from
--- the number, so only numbers are sent.
---
--- As `tasks` of `param.run`, the batches are part of each checkpoint. A resumed run assigns exactly the batches that
--- the checkpoint does not contain:
---
---     local batches = data.batches { n = set.n, size = 32, epochs = 5, seed = actor.seed }
---     param.run {
---       tasks = batches,
---       schedule = function(workers)
---         local tasks = {}
---         for _, id in ipairs(workers) do
---           local number = batches:next(id)
---           if number then tasks[id] = { task = number, { "batch", number }, { "w" } } end
---         end
---         return tasks
---       end,
---       stop = function() return batches:finished() end,
---       checkpoint = { steps = 100 },
---       ...
---     }
---
--- A schedule in another order uses `size = 1` and interprets batch `i` as its i-th task.
local ffi = require("ffi")
local check = require("actor.check")
local util = require("actor.util")
local api = require("actor.ffi")("data")

local floor, ceil, min = math.floor, math.ceil, math.min

ffi.cdef "typedef struct { int32_t n; int32_t index[?]; } actor_data_positions;"

---Positions of samples, from 1: an array for `data.batch`, with `#` and `[i]`.
---@class actor.data.Positions
---@field n integer
local Positions = ffi.metatype("actor_data_positions", {
  __len = function(self) return self.n end,
  __index = function(self, i)
    if type(i) == "number" and i >= 1 and i <= self.n and i == floor(i) then return self.index[i - 1] end
  end,
  __tostring = function(self) return ("positions(%d)"):format(self.n) end,
})

---@param count integer
---@return actor.data.Positions
local function new_positions(count)
  local positions = Positions(count)
  positions.n = count -- LuaJIT does not compile an initialiser
  return positions
end

-- The positions of `count` of the n samples, from place `first` (from 1): in the order of the set, or with a seed in
-- the random order of `epoch`. If `of` is given, the positions are those of a larger set.
local function part_of(n, of, seed, epoch, first, count)
  local out = new_positions(count)
  if seed and count > 0 then
    api.shuffled(seed, epoch, n, first, out)
  else
    for i = 0, count - 1 do out.index[i] = first + i end
  end
  if of then
    for i = 0, count - 1 do out.index[i] = of.index[out.index[i] - 1] end
  end
  return out
end

-- An array of Lua numbers as positions.
local function as_positions(array, fn)
  check.arg(array, "table", "positions", fn)
  local count = #array
  local out = new_positions(count)
  for i = 1, count do
    local position = array[i]
    if type(position) ~= "number" or position ~= floor(position) or position < 1 or position >= 2 ^ 31 then
      check.wrong(("positions[%d]"):format(i), fn, "a position (a whole number of at least 1)", position)
    end
    out.index[i - 1] = position
  end
  return out
end

---@class actor.data.Batches
local Batches = check.class("batches:", "of")

local kinds = {
  n = "number?", of = "cdata?", size = "number", epochs = "number?", seed = "number?", shuffle = "boolean?", drop_last = "boolean?",
}

---Divides the samples 1 .. n, or the samples at the positions `of` (data.split, data.holdout), into batches.
---```lua
---local plan = actor.data.batches { n = 100, size = 32, epochs = 2, seed = 1 }
---print(plan:count(), plan:positions(1).n)  --> 8 32
---```
---@param options {n?: integer, of?: actor.data.Positions, size: integer, epochs?: integer, seed?: integer,
---  shuffle?: boolean, drop_last?: boolean} `n` or `of`;
---  `epochs` default 1, math.huge for no end; `shuffle` default true: a new order in each epoch, from `seed` (default
---  0); `drop_last` omits the last batch of an epoch if it is smaller than `size`
---@return actor.data.Batches
local function batches(options)
  local fn = "data.batches"
  check.options(options, kinds, fn)
  local of, n, size, epochs = options.of, options.n, options.size, options.epochs or 1
  if of ~= nil then
    if not ffi.istype(Positions, of) then check.wrong("of", fn, "positions (data.range, data.split)", of) end
    if n ~= nil then check.fail("%s: give n= or of=, not both", fn) end
    n = of.n
  end
  check.integer(n, "n", fn, 1, 2 ^ 31 - 1)
  check.integer(size, "size", fn, 1, 2 ^ 31 - 1)
  if epochs ~= math.huge then check.integer(epochs, "epochs", fn, 1, 2 ^ 31) end
  check.integer(options.seed or 0, "seed", fn, 0, 2 ^ 53)
  local per_epoch = options.drop_last and floor(n / size) or ceil(n / size)
  if per_epoch == 0 then check.fail("%s: %d samples do not fill one batch of %d, and drop_last is set", fn, n, size) end
  return setmetatable({
    n = n, of = of, size = size, epochs = epochs, seed = options.seed or 0, shuffle = options.shuffle ~= false,
    drop_last = options.drop_last or false, per_epoch = per_epoch,
    _next = 1, -- the first number not yet assigned
    _back = {}, -- numbers to assign again, rising
    _holder = {}, -- number -> worker
    _held = {}, -- worker -> numbers in the order of assignment
  }, Batches)
end

---Returns the number of batches in all epochs.
---```lua
---print(actor.data.batches({ n = 100, size = 30, epochs = 2 }):count())  --> 8
---```
---@return number
function Batches:count() return self.per_epoch * self.epochs end

local function place_of(self, number, fn)
  check.integer(number, "number", fn, 1, min(self:count(), 2 ^ 53))
  local epoch = floor((number - 1) / self.per_epoch)
  local place = number - 1 - epoch * self.per_epoch
  local first = place * self.size + 1
  return { epoch = epoch + 1, place = place + 1, first = first, size = min(self.size, self.n - first + 1) }
end

---Returns a batch's epoch (from 1), place in the epoch (from 1), first position in the epoch's order, and number of
---samples.
---```lua
---print(actor.data.batches({ n = 100, size = 30, epochs = 2 }):where(5).epoch)  --> 2
---```
---@param number integer
---@return {epoch: integer, place: integer, first: integer, size: integer}
function Batches:where(number) return place_of(self, number, "batches:where") end

---Returns the positions of a batch's samples, the same on every node.
---```lua
---local plan = actor.data.batches { n = 100, size = 50, seed = 1 }
---local x = actor.data.batch(actor.tensor.arange(100), plan:positions(1))
---print(x.size)  --> 50
---```
---@param number integer
---@return actor.data.Positions
function Batches:positions(number)
  local at = place_of(self, number, "batches:positions")
  return part_of(self.n, self.of, self.shuffle and self.seed, at.epoch, at.first, at.size)
end

local function check_worker(worker, fn)
  if worker == nil or worker ~= worker then check.wrong("worker", fn, "a worker's id", worker) end
end

---Assigns a batch to `worker` and returns its number, or nil if no batch is available now. The batches of a failed
---worker become available again, so only `finished` is final. A worker may hold several batches.
---```lua
---local plan = actor.data.batches { n = 100, size = 50 }
---print(plan:next("worker a"), plan:next("worker b"), plan:next("worker a"))  --> 1 2 nil
---```
---@param worker any its id
---@return integer|nil
function Batches:next(worker)
  check_worker(worker, "batches:next")
  local number = table.remove(self._back, 1)
  if not number then
    if self._next > self:count() then return nil end
    number = self._next
    self._next = number + 1
  end
  local held = self._held[worker] or {}
  self._held[worker], held[#held + 1] = held, number
  self._holder[number] = worker
  return number
end

---Marks a batch of `worker` as done: the given batch, or the batch that the worker has held longest. Returns false if
---the worker no longer holds the batch: the worker was considered failed, and the batch is another worker's or done.
---`param.run { tasks = ... }` calls this when the batch is merged, or dropped by the merge rule.
---```lua
---local plan = actor.data.batches { n = 100, size = 50 }
---plan:done("a", plan:next("a"))
---print(plan:fraction())  --> 0.5
---```
---@param worker any its id
---@param number? integer
---@return boolean
function Batches:done(worker, number)
  check_worker(worker, "batches:done")
  local held = self._held[worker]
  number = number or held and held[1]
  if number == nil or self._holder[number] ~= worker then return false end
  self._holder[number] = nil
  for i = 1, #held do
    if held[i] == number then
      table.remove(held, i)
      break
    end
  end
  if #held == 0 then self._held[worker] = nil end
  return true
end

---Reports that `worker` has failed: all its batches, or the given batch, are assigned again, before new batches.
---`param.run { tasks = ... }` calls this with the batch whose push was incomplete; complete pushes of the worker may
---still be merged.
---```lua
---local plan = actor.data.batches { n = 100, size = 50 }
---plan:next("a")
---print(plan:lost("a"), plan:next("b"))  --> 1 1
---```
---@param worker any its id
---@param number? integer
---@return integer number of batches to assign again
function Batches:lost(worker, number)
  check_worker(worker, "batches:lost")
  if number then
    if not self:done(worker, number) then return 0 end
    self._back[#self._back + 1] = number
    table.sort(self._back)
    return 1
  end
  local held = self._held[worker] or {}
  for _, number in ipairs(held) do
    self._holder[number] = nil
    self._back[#self._back + 1] = number
  end
  table.sort(self._back)
  self._held[worker] = nil
  return #held
end

---Returns the numbers of the batches that `worker` holds, in the order of assignment.
---```lua
---local plan = actor.data.batches { n = 100, size = 50 }
---plan:next("a")
---print(unpack(plan:held("a")))  --> 1
---```
---@param worker any its id
---@return integer[]
function Batches:held(worker)
  check_worker(worker, "batches:held")
  return util.joined(self._held[worker] or {})
end

---Returns whether every batch is done.
---```lua
---print(actor.data.batches({ n = 100, size = 50 }):finished())  --> false
---```
---@return boolean
function Batches:finished()
  return self._next > self:count() and #self._back == 0 and next(self._holder) == nil
end

-- The number of samples in the batches before `number`.
local function samples_below(self, number)
  local epochs = floor((number - 1) / self.per_epoch)
  local in_epoch = self.drop_last and self.per_epoch * self.size or self.n
  return epochs * in_epoch + min((number - 1 - epochs * self.per_epoch) * self.size, in_epoch)
end

-- The unfinished numbers below _next, rising.
local function unfinished(self)
  local numbers = util.joined(self._back)
  for number in pairs(self._holder) do numbers[#numbers + 1] = number end
  table.sort(numbers)
  return numbers
end

---Returns the epoch (from 1) of the first unfinished batch; epochs + 1 when all batches are done.
---```lua
---print(actor.data.batches({ n = 100, size = 50, epochs = 3 }):epoch())  --> 1
---```
---@return integer
function Batches:epoch()
  local first = unfinished(self)[1] or self._next
  return floor((first - 1) / self.per_epoch) + 1
end

---Returns the share of all samples in finished batches, 0 .. 1.
---```lua
---local plan = actor.data.batches { n = 100, size = 25 }
---plan:done("a", plan:next("a"))
---print(plan:fraction())  --> 0.25
---```
---@return number
function Batches:fraction()
  local done = samples_below(self, self._next)
  for _, number in ipairs(unfinished(self)) do
    done = done - (samples_below(self, number + 1) - samples_below(self, number))
  end
  return done / samples_below(self, self:count() + 1)
end

local described = { "n", "size", "epochs", "seed", "shuffle", "drop_last" }

---Returns the state for a checkpoint, as a plain table. Batches in progress count as unfinished.
---`param.run { tasks = ... }` saves the state in each checkpoint, and restores it in a resumed run.
---```lua
---local plan = actor.data.batches { n = 100, size = 25 }
---plan:done("a", plan:next("a"))
---local later = actor.data.batches { n = 100, size = 25 }
---print(later:restore(plan:state()):fraction())  --> 0.25
---```
---@return table
function Batches:state()
  local state = { next = self._next, unfinished = unfinished(self) }
  for _, name in ipairs(described) do state[name] = self[name] end
  return state
end

---Restores a state that `state` returned for batches with the same options. Afterwards no worker holds a batch.
---```lua
---local plan = actor.data.batches { n = 100, size = 25 }
---print(plan:restore(plan:state()):fraction())  --> 0
---```
---@param state table
---@return actor.data.Batches itself
function Batches:restore(state)
  local fn = "batches:restore"
  check.arg(state, "table", "state", fn)
  for _, name in ipairs(described) do
    if state[name] ~= self[name] then
      check.fail("%s: the state is of batches with %s = %s, these have %s", fn, name, tostring(state[name]),
        tostring(self[name]))
    end
  end
  check.integer(state.next, "state.next", fn, 1, min(self:count() + 1, 2 ^ 53))
  check.arg(state.unfinished, "table", "state.unfinished", fn)
  local back, seen = {}, {}
  for i, number in ipairs(state.unfinished) do
    check.integer(number, ("state.unfinished[%d]"):format(i), fn, 1, state.next - 1)
    if seen[number] then check.fail("%s: batch %d is unfinished twice", fn, number) end
    seen[number] = true
    back[i] = number
  end
  table.sort(back)
  self._next, self._back, self._holder, self._held = state.next, back, {}, {}
  return self
end

return {
  batches = batches, positions = new_positions, part_of = part_of, as_positions = as_positions, Positions = Positions,
}
