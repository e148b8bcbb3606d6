--- A small event loop for the specs of barrier rules: workers take some time for each step, request the next step, and
--- wait. A seed determines the events. The loop is independent of the simulator (host/sim) and simple enough to trust.
--- Its loops visit ids in order, since the order matters.
local barrier = require("actor.barrier")
local rng = require("actor.rng")

---@class barrier.World
---@field now number
---@field waited table<integer, number> total wait of each worker in seconds
---@field passes integer
---@field log string[] "time id step" of each pass
local World = {}
World.__index = World

local M = {}

---@param rule any rule or text
---@param duration fun(id: integer, step: integer, random: table): number seconds of a worker's next step
---@param seed? integer
---@return barrier.World
function M.new(rule, duration, seed)
  return setmetatable({
    progress = barrier.progress(), evaluator = barrier.evaluator(rule, seed or 1), random = rng(seed or 1, 77),
    duration = duration, finish = {}, requested_at = {}, waited = {}, log = {}, members = {}, last = -1, now = 0, passes = 0,
  }, World)
end

---The ids of all workers, in order.
function World:ids()
  local ids = {}
  for id = 0, self.last do
    if self.members[id] then ids[#ids + 1] = id end
  end
  return ids
end

function World:slowest()
  local least = math.huge
  for id = 0, self.last do
    if self.members[id] then least = math.min(least, self.progress:step(id)) end
  end
  return least
end

function World:start(id)
  self.progress:start(id, self.now)
  self.finish[id] = self.now + self.duration(id, self.progress:step(id), self.random)
end

---Worker `id` joins and requests its first step, as in a job.
function World:join(id)
  self.progress:join(id)
  self.members[id], self.waited[id] = true, 0
  self.last = math.max(self.last, id)
  self:request(id)
end

function World:request(id)
  self.requested_at[id] = self.now
  self.progress:request(id, self.now)
end

function World:leave(id)
  self.progress:remove(id)
  self.members[id], self.finish[id], self.requested_at[id] = nil, nil, nil
end

-- The next worker to finish; of several, the smallest id.
function World:next_finish()
  local first, time = nil, math.huge
  for id = 0, self.last do
    local at = self.finish[id]
    if at and at < time then first, time = id, at end
  end
  return first, time
end

function World:release()
  for _, id in ipairs(self.evaluator:poll(self.progress, self.now)) do
    local step = self.progress:step(id)
    if self.on_pass then self.on_pass(id, step - self:slowest(), step) end
    self.waited[id] = self.waited[id] + self.now - self.requested_at[id]
    self.requested_at[id] = nil
    self.passes = self.passes + 1
    self.log[#self.log + 1] = ("%.6f %d %d"):format(self.now, id, step)
    self:start(id)
  end
end

---Runs until `horizon`. Fails if all workers wait and the rule has not requested a later evaluation.
function World:run(horizon)
  self:release()
  while true do
    local id, time = self:next_finish()
    local recheck = self.progress:next_time()
    if not id and recheck == math.huge and next(self.members) then
      error(("standstill at %g: %d workers wait for ever"):format(self.now, self.progress:waiting()), 2)
    end
    if math.min(time, recheck) > horizon then break end
    self.now = math.max(self.now, math.min(time, recheck))
    if id and time <= self.now then
      self.finish[id] = nil
      self.progress:complete(id, self.now)
      self:request(id)
    end
    self:release()
  end
  self.now = horizon
end

---Completed steps of worker `id`.
function World:step(id) return self.progress:step(id) end

---The total wait of all workers in seconds, with the waits in progress.
function World:total_wait()
  local sum = 0
  for _, id in ipairs(self:ids()) do sum = sum + self.waited[id] + (self.requested_at[id] and self.now - self.requested_at[id] or 0) end
  return sum
end

---A world of workers with ids 0, 1, ... under `rule`, after `horizon` seconds.
---@param rule any
---@param seconds number[]|fun(id: integer, step: integer, random: table): number seconds of a step, by worker
---@param horizon number
---@param n? integer number of workers, by default one for each of `seconds`
---@param on_pass? fun(id: integer, lead: integer, step: integer)
---@return barrier.World
function M.run(rule, seconds, horizon, n, on_pass)
  local duration = seconds
  if type(seconds) == "table" then
    n, duration = n or #seconds, function(id) return seconds[id + 1] end
  end
  local world = M.new(rule, duration)
  world.on_pass = on_pass
  for id = 0, n - 1 do world:join(id) end
  world:run(horizon)
  return world
end

return M
