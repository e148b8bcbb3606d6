--- The clocks of the workers, for Lua code that decides which workers may continue: the simulator, peers, tests of
--- rules. A worker's clock is its number of completed steps. The parameter server keeps its own clocks in C++.
local ffi = require("ffi")
local check = require("actor.check")
local api = require("actor.ffi")("barrier")

---@class actor.barrier.Progress
local Progress = {}
Progress.__index = Progress

local message = ffi.new("char[256]")
local max_id, max_step = 2 ^ 24 - 1, 2 ^ 31 - 1

---Makes the clocks of a run without workers; `add` and `join` add workers.
---@return actor.barrier.Progress
function Progress.new()
  local handle = api.progress_new()
  if handle == nil then error("no memory for the workers' clocks") end
  return setmetatable({ handle = ffi.gc(handle, api.progress_free) }, Progress)
end

---Counts worker `id` from now on, with `step` completed steps.
---@param id number permanent, from 0
---@param step? number default 0
function Progress:add(id, step)
  check.integer(id, "id", "progress:add", 0, max_id)
  check.integer(step or 0, "step", "progress:add", 0, max_step)
  if api.progress_add(self.handle, id, step or 0, message, 256) == 0 then check.fail("%s", ffi.string(message)) end
end

---Counts a worker that joins a run: at the smallest counted clock, or at `first` when no worker is counted.
---@param id number
---@param first? number default 0
function Progress:join(id, first)
  check.integer(id, "id", "progress:join", 0, max_id)
  check.integer(first or 0, "first", "progress:join", 0, max_step)
  if api.progress_join(self.handle, id, first or 0, message, 256) == 0 then check.fail("%s", ffi.string(message)) end
end

-- The following functions return whether the worker was counted; if not, they have changed nothing.

---Removes a worker.
function Progress:remove(id) return api.progress_remove(self.handle, id) ~= 0 end

---Stops counting an idle worker. `unpark` counts it again, with a clock that does not hold back other workers.
function Progress:park(id) return api.progress_park(self.handle, id) ~= 0 end

---Counts a parked worker again; returns whether it was parked.
---@param id integer
---@return boolean
function Progress:unpark(id) return api.progress_unpark(self.handle, id) ~= 0 end

---Records that the worker begins a step at time `now`.
function Progress:start(id, now) return api.progress_start(self.handle, id, now) ~= 0 end

---Records that the worker has completed a step at time `now`.
function Progress:complete(id, now) return api.progress_complete(self.handle, id, now) ~= 0 end

---Records that the worker has pulled that version of the model.
function Progress:pulled(id, version) return api.progress_pulled(self.handle, id, version) ~= 0 end

---Records that the failure detector suspects the worker, or no longer does.
function Progress:suspect(id, suspected) return api.progress_suspect(self.handle, id, suspected and 1 or 0) ~= 0 end

---Records that the worker waits to continue from time `now` on, until an evaluator lets it pass.
function Progress:request(id, now) return api.progress_request(self.handle, id, now) ~= 0 end

---Returns the completed steps of a counted worker, nil for other workers.
---@return number?
function Progress:step(id)
  local step = api.progress_step(self.handle, id)
  return step >= 0 and step or nil
end

---Returns the number of counted workers.
---@return number
function Progress:size() return api.progress_size(self.handle) end

---Returns how many of the counted workers wait.
---@return number
function Progress:waiting() return api.progress_waiting(self.handle) end

---Returns the time of the next poll that the evaluator needs without any event; infinite when there is none.
---@return number
function Progress:next_time() return api.progress_next_time(self.handle) end

return Progress
