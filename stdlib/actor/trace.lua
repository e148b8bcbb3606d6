--- Reads and summarises traces of `--record FILE.csv`. host/engine/param/TRACE.md describes the file format. A trace is
--- read into plain tables; times are seconds since the beginning of their run.
---
---     local trace = require("actor").trace
---     local recorded = trace.read("run.csv")
---     print(trace.summary(recorded.runs[1]).mean_step)
local check = require("actor.check")
local util = require("actor.util")

---@class actor.trace
local M = {}

local max = math.max

---@class actor.trace.Count a time at which the barrier began or ceased to count a worker
---@field time number
---@field step integer its completed steps then

---@class actor.trace.Open a step without an end in the trace
---@field step integer completed steps before it
---@field released number

---@class actor.trace.Worker
---@field id integer
---@field joins actor.trace.Count[] more than one if it was temporarily without work
---@field leaves actor.trace.Count[] when it failed or had no work; the last element is final if no join follows
---@field step integer its completed steps at the end
---@field counted boolean whether the barrier counted it at the end
---@field steps integer[] number of each completed step, from 1; consecutive except after a later join
---@field ready number[] when it finished the previous step, or joined
---@field released number[] when the barrier admitted the step
---@field time number[] when its push arrived
---@field compute number[] seconds of work by its own clock; the rest of time - released is network and server
---@field waits {from: number, to: number}[] waits that no completed step follows: until it left, the trace ended, or an open
---step began
---@field open? actor.trace.Open

---@class actor.trace.Run
---@field index integer 1, 2, ... within the file
---@field start number seconds since the file's first run began
---@field header table<string, string> seed, barrier, workers, ... of this run
---@field workers actor.trace.Worker[] in id order
---@field stop? number when the run stopped; nil when the trace ends before that
---@field last number time of its last row

---@class actor.trace.Trace
---@field path string
---@field header table<string, string> the head of the file: version, job, seed, servers, resample, barrier, merge, workers
---@field runs actor.trace.Run[]
---@field note? string describes a truncated end of the file, as after a killed run

-- ---- reading ----

local first_line = "# actorhost trace 1"
local columns = "event,id,step,time,released,compute"
local rounding = 1e-6 -- the file rounds each time separately

---@class actor.trace.Reader
---@field path string
---@field line integer
---@field trace actor.trace.Trace
---@field run? actor.trace.Run
---@field by_id table<integer, actor.trace.Worker> of the run
---@field since table<actor.trace.Worker, number> start of the wait of each worker outside a step
---@field time number of the last row, since the file's first run began
local Reader = {}
Reader.__index = Reader

function Reader:fail(message, ...)
  check.fail("trace.read: %s:%d: %s", self.path, self.line, message:format(...))
end

function Reader:worker(id)
  if not id then self:fail("the worker's id is missing") end
  local worker = self.by_id[id]
  if not worker then
    worker = {
      id = id, joins = {}, leaves = {}, step = 0, counted = false,
      steps = {}, ready = {}, released = {}, time = {}, compute = {}, waits = {},
    }
    self.by_id[id] = worker
  end
  return worker
end

-- The worker of a row. It must be counted, with `step` completed steps (one less for a row that completes a step).
function Reader:counted(id, step, event)
  local worker = self:worker(id)
  if not worker.counted then self:fail("%s of worker %d, which has not joined", event, id) end
  if not step then self:fail("the step is missing") end
  local expected = event == "step" and worker.step + 1 or worker.step
  if step ~= expected then
    self:fail("%s %d of worker %d, expected %d", event, step, id, expected)
  end
  return worker
end

function Reader:released(worker, released, time)
  if not released then self:fail("the time of release is missing") end
  if released > time then self:fail("worker %d is released at %.9f, after the row's own time", worker.id, released) end
  if released < self.since[worker] then
    self:fail("worker %d is released at %.9f, before it was ready for the step", worker.id, released)
  end
end

local function wait_until(reader, worker, time)
  worker.waits[#worker.waits + 1] = { from = reader.since[worker], to = time }
end

-- Handlers of a row's event: reader, id, step, time since the run began, released, compute; nil for an empty field.
local events = {}

function events.join(reader, id, step, time)
  local worker = reader:worker(id)
  if worker.counted then reader:fail("worker %d joins a second time", id) end
  if not step or step < worker.step then reader:fail("worker %d joins at a step before its own", id) end
  worker.counted, worker.step = true, step
  worker.joins[#worker.joins + 1] = { time = time, step = step }
  reader.since[worker] = time
end

function events.leave(reader, id, step, time)
  local worker = reader:counted(id, step, "leave")
  worker.counted = false
  worker.leaves[#worker.leaves + 1] = { time = time, step = step }
  if not worker.open then wait_until(reader, worker, time) end
end

function events.step(reader, id, step, time, released, compute)
  local worker = reader:counted(id, step, "step")
  if worker.open then reader:fail("step of worker %d, whose last one is open", id) end
  reader:released(worker, released, time)
  if not compute then reader:fail("the time of work is missing") end
  if compute > time - released + rounding then
    reader:fail("worker %d has worked for %.9f s of the %.9f s of its step", id, compute, time - released)
  end
  worker.step = step
  local n = #worker.steps + 1
  worker.steps[n], worker.ready[n], worker.released[n] = step, reader.since[worker], released
  worker.time[n], worker.compute[n] = time, compute
  reader.since[worker] = time
end

function events.open(reader, id, step, time, released)
  local worker = reader:counted(id, step, "open")
  if worker.open then reader:fail("worker %d has two open steps", id) end
  reader:released(worker, released, time)
  wait_until(reader, worker, released)
  worker.open = { step = step, released = released }
end

local function in_id_order(a, b) return a.id < b.id end

-- Ends the current run at its stop time `stop`, nil if the file lacks it.
function Reader:end_run(stop)
  local run = self.run
  if not run then return end
  self.run, run.stop = nil, stop
  for _, worker in pairs(self.by_id) do
    if worker.counted and not worker.open then wait_until(self, worker, run.last) end
    run.workers[#run.workers + 1] = worker
  end
  table.sort(run.workers, in_id_order)
end

function events.stop(reader, _, _, time) reader:end_run(time) end

function Reader:begin_run(index, time)
  local runs = self.trace.runs
  if index ~= #runs + 1 then self:fail("run %s, expected %d", tostring(index), #runs + 1) end
  self:end_run()
  self.run = { index = index, start = time, header = util.merged(self.trace.header), workers = {}, last = 0 }
  self.by_id, self.since = {}, {}
  runs[index] = self.run
end

function Reader:row(line)
  if #line > 200 then self:fail("a row of %d characters", #line) end
  local event, id, step, time, released, compute =
    line:match("^(%l+),(%d*),(%d*),(%d+%.?%d*),(%d*%.?%d*),(%d*%.?%d*)$")
  if not event then self:fail("expected a row '%s', got '%s'", columns, line:sub(1, 60)) end
  time = tonumber(time)
  if time < self.time then self:fail("time goes back from %.9f to %.9f", self.time, time) end
  self.time = time
  if event == "run" then return self:begin_run(tonumber(id), time) end
  if not events[event] then self:fail("unknown event '%s'", event) end
  local run = self.run
  if not run then self:fail("'%s' outside of a run", event) end
  run.last = time - run.start
  released = tonumber(released)
  events[event](self, tonumber(id), tonumber(step), run.last, released and released - run.start, tonumber(compute))
end

function Reader:key(line)
  local key, value = line:match("^# ([%w_.-]+)=(.*)$")
  if not key then self:fail("expected '# key=value', got '%s'", line:sub(1, 60)) end
  local header = self.run and self.run.header or self.trace.header
  header[key] = value
end

-- Iterates over the lines of a file. Skips a last line without a newline and calls `cut`.
local function whole_lines(file, cut)
  return function()
    local line = file:read("*L")
    if not line then return nil end
    if line:sub(-1) ~= "\n" then return cut() end
    return line:sub(1, -2)
  end
end

function Reader:read(file)
  local in_header = true
  local cut = false
  for line in whole_lines(file, function() cut = true end) do
    self.line = self.line + 1
    if self.line == 1 then
      if line ~= first_line then self:fail("not a trace: expected '%s', got '%s'", first_line, line:sub(1, 60)) end
    elseif line:sub(1, 1) == "#" then
      self:key(line)
    elseif in_header then
      if line ~= columns then self:fail("expected '%s', got '%s'", columns, line:sub(1, 60)) end
      in_header = false
    else
      self:row(line)
    end
  end
  if in_header then
    self.line = self.line + 1
    self:fail(self.line == 1 and not cut and "nothing was recorded" or "the trace ends in its header")
  end
  local notes = {}
  if cut then notes[1] = ("line %d is cut off and left out"):format(self.line + 1) end
  if self.run then notes[#notes + 1] = ("run %d has no stop"):format(self.run.index) end
  self:end_run()
  if #notes > 0 then self.trace.note = table.concat(notes, "; ") end
end

---Reads a file of `--record`. Raises an error with file and line if the file is not a trace or contradicts itself. A
---truncated file, as after a killed run, is valid: `note` describes the missing part.
---```lua
----- actorhost --record run.csv job.lua
---local function show(path)
---  for _, run in ipairs(actor.trace.read(path).runs) do print(run.index, actor.trace.summary(run).updates) end
---end
---```
---@param path string
---@return actor.trace.Trace
function M.read(path)
  check.arg(path, "string", "path", "trace.read")
  local file, message = io.open(path, "rb")
  if not file then check.fail("trace.read: %s", message) end
  local reader = setmetatable({
    path = path, line = 0, time = 0, trace = { path = path, header = {}, runs = {} }, by_id = {}, since = {},
  }, Reader)
  local fine, problem = pcall(reader.read, reader, file)
  file:close()
  if not fine then error(problem, 0) end
  return reader.trace
end

-- ---- summaries ----

---@class actor.trace.WorkerSummary
---@field id integer
---@field completed integer steps completed within the trace
---@field started integer begun steps: the completed steps and the open step
---@field counted boolean whether the barrier counted it at the end
---@field compute number mean seconds of work in a step; NaN without one
---@field rest number mean seconds of network and server in a step; NaN without one
---@field waiting number share of its time spent waiting at the barrier

---@class actor.trace.Summary
---@field seconds number from the run's beginning to its stop, or to the trace's end
---@field workers actor.trace.WorkerSummary[] in id order
---@field mean_step number mean of `started` over the workers counted at the end, like the simulator's figure
---@field min_step number
---@field max_step number
---@field completed integer
---@field compute number
---@field rest number
---@field waiting number

-- Sums over a worker's time: seconds of work, of network and server, of waiting, and in an open step.
local function shares(worker, last)
  local compute, rest, waiting = 0, 0, 0
  for i = 1, #worker.steps do
    compute = compute + worker.compute[i]
    rest = rest + max(worker.time[i] - worker.released[i] - worker.compute[i], 0)
    waiting = waiting + worker.released[i] - worker.ready[i]
  end
  for _, wait in ipairs(worker.waits) do waiting = waiting + wait.to - wait.from end
  local open = 0
  if worker.open then
    local left = worker.leaves[#worker.leaves]
    open = (worker.counted and last or left.time) - worker.open.released
  end
  return compute, rest, waiting, open
end

---Summarises a run, as at its stop.
---```lua
---local function steps(path) return actor.trace.summary(actor.trace.read(path).runs[1]).updates end
---```
---@param run actor.trace.Run
---@return actor.trace.Summary
function M.summary(run)
  check.arg(run, "table", "run", "trace.summary")
  local out = { seconds = run.last, workers = {}, completed = 0, min_step = math.huge, max_step = 0 }
  local compute, rest, waiting, whole, steps, there = 0, 0, 0, 0, 0, 0
  for i, worker in ipairs(run.workers) do
    local c, r, w, o = shares(worker, run.last)
    local n, all = #worker.steps, c + r + w + o
    local started = worker.step + (worker.open and 1 or 0)
    out.workers[i] = {
      id = worker.id, completed = n, started = started, counted = worker.counted,
      compute = c / n, rest = r / n, waiting = all > 0 and w / all or 0,
    }
    compute, rest, waiting, whole = compute + c, rest + r, waiting + w, whole + all
    out.completed = out.completed + n
    if worker.counted then
      there, steps = there + 1, steps + started
      out.min_step, out.max_step = math.min(out.min_step, started), max(out.max_step, started)
    end
  end
  out.mean_step, out.compute, out.rest = steps / there, compute / out.completed, rest / out.completed
  out.waiting = whole > 0 and waiting / whole or 0
  return out
end

return M
