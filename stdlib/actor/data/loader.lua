--- Loads batches ahead: a thread gathers the rows of the next batches while the script works on the current batch. The
--- batches have the values and the order of `data.batch`. A loader allocates a fixed number of batches and reuses their
--- memory.
local ffi = require("ffi")
local check = require("actor.check")
local c = require("actor.c.data")
local base = require("actor.tensor.base")
local planning = require("actor.data.batches")

local fn = "data.loader"
local M = {}

---@class actor.data.Loader
local Loader = check.class("loader:", "_held")

local function is_rows(value) return ffi.istype("ah_rows", value) end

local function sources_of(set)
  if is_rows(set) or base.is_tensor(set) then return { set } end
  if type(set) == "table" and rawget(set, "images") then return { set.images, set.labels } end
  if type(set) ~= "table" or #set == 0 then check.wrong("set", fn, "a set, rows, a tensor, or an array of these", set) end
  return { unpack(set) }
end

local function rows_in(source)
  return is_rows(source) and source.n or tonumber(source.extent_[0])
end

local function check_sources(sources)
  for i, source in ipairs(sources) do
    local fits = is_rows(source) or base.is_tensor(source) and source.ndim_ > 0
    if not fits then check.wrong(("set[%d]"):format(i), fn, "rows or a tensor of rows (data.batch makes sparse ones dense)", source) end
    if not is_rows(source) then sources[i] = source:contiguous() end
    if rows_in(source) ~= rows_in(sources[1]) then
      check.fail("%s: set[1] has %d rows, set[%d] has %d", fn, rows_in(sources[1]), i, rows_in(source))
    end
  end
end

local function in_order(plan, first)
  check.integer(first, "first", fn, 1, 2 ^ 53)
  local number = first - 1
  return function()
    number = number + 1
    return number <= plan:count() and plan:positions(number) or nil
  end
end

local kinds = { set = "table|cdata", plan = "table?", first = "number?", positions = "function?", ahead = "number?" }

---Makes an iterator over batches that its own thread gathers ahead. The next batch may overwrite the tensors of the
---current batch: `clone` tensors to retain them. Do not write to the sources while the loader is in use. A loader saves
---time if a core is idle and gathering takes a large part of a step (large rows). With a node on each core it saves no
---time and costs almost none (tests/bench/NOTES.md). The thread ends with the iteration, by `close`, or when the
---collector frees the loader.
---```lua
---local rows = actor.tensor.arange(100):reshape(50, 2)
---local plan = actor.data.batches { n = 50, size = 10 }
---local sum = 0
---for x in actor.data.loader { set = rows, plan = plan } do sum = sum + x:sum() end
---print(sum)  --> 4950
---```
---@param options {set: actor.data.Set|actor.data.Rows|actor.Tensor|(actor.data.Rows|actor.Tensor)[],
---  plan?: actor.data.Batches, first?: integer, positions?: (fun(): actor.data.Positions|integer[]|nil),
---  ahead?: integer}
---  `set`: the sources of rows; a batch has a tensor from each source. Give either `plan`, for its batches in order
---  from number `first` on (default 1), or `positions`, a function that returns the positions of the next batch, and
---  nil at the end. `ahead`: number of batches to gather ahead, default 2
---@return actor.data.Loader a call returns the next batch: a tensor from each source, nil after the last
function M.loader(options)
  check.options(options, kinds, fn)
  local plan, positions, ahead = options.plan, options.positions, options.ahead or 2
  if not plan == not positions then check.fail("%s: give plan= or positions=%s", fn, plan and ", not both" or "") end
  check.integer(ahead, "ahead", fn, 1, 1000)
  local sources = sources_of(options.set)
  check_sources(sources)
  return setmetatable({
    _sources = sources, _ahead = ahead, _next = plan and in_order(plan, options.first or 1) or positions,
    _thread = c.load(sources), _ended = false,
    _ready = {}, -- batches submitted to the thread, the oldest first: {positions=, rows=, tensors=}
    _free = {}, -- batches whose memory may be used again
  }, Loader)
end

-- Allocates the tensors of a batch, unless they already have `count` rows.
local function make_room(self, slot, count)
  if slot.rows and slot.rows >= count then return end
  slot.rows, slot.tensors = count, {}
  for i, source in ipairs(self._sources) do
    local shape, dtype = { count }, 0
    if is_rows(source) then
      if source.ndim == 2 then shape[2] = source.width end
    else
      dtype = source.type_
      for d = 1, source.ndim_ - 1 do shape[d + 1] = tonumber(source.extent_[d]) end
    end
    slot.tensors[i] = base.allocate(shape, dtype, fn)
  end
end

-- Submits batches until `ahead` batches are submitted or the positions end.
local function fill(self)
  while not self._ended and #self._ready < self._ahead do
    local positions = self._next()
    if positions == nil then
      self._ended = true
    else
      if not ffi.istype(planning.Positions, positions) then positions = planning.as_positions(positions, fn) end
      local slot = table.remove(self._free) or {}
      make_room(self, slot, positions.n)
      slot.positions = positions
      c.submit(self._thread, positions, slot.tensors)
      self._ready[#self._ready + 1] = slot
    end
  end
end

local function give_back(self)
  self._free[#self._free + 1] = self._held
  self._held = nil
end

---Returns the next batch: a tensor from each source, or nil after the last batch. Raises if a source has no row at a
---position. `loader()` makes the same call.
---```lua
---local rows, plan = actor.tensor.arange(20):reshape(10, 2), actor.data.batches { n = 10, size = 5 }
---local loader = actor.data.loader { set = rows, plan = plan }
---print(unpack(loader:next().shape))  --> 5 2
---loader:close()
---```
---@return actor.Tensor|nil ...
function Loader:next()
  give_back(self)
  fill(self)
  local slot = table.remove(self._ready, 1)
  if not slot then return self:close() end
  local source, at = c.take(self._thread)
  if source then
    self:close()
    check.fail("bad argument 'positions' to data.loader: position %d at index %d is outside 1 .. %d",
      slot.positions.index[at - 1], at, rows_in(self._sources[source]))
  end
  self._held = slot
  fill(self)
  local count, out = slot.positions.n, slot.tensors
  if count < slot.rows then
    out = {}
    for i, t in ipairs(slot.tensors) do out[i] = t:slice(1, 1, count) end
  end
  return unpack(out)
end

Loader.__call = Loader.next

---Ends the loader and its thread. Later calls of `next` return nil. A second `close` has no effect.
---```lua
---local rows, plan = actor.tensor.arange(20):reshape(10, 2), actor.data.batches { n = 10, size = 5 }
---local loader = actor.data.loader { set = rows, plan = plan }
---loader:close()
---```
function Loader:close()
  self._ended, self._ready, self._free = true, {}, {}
  c.close(self._thread)
end

return M
