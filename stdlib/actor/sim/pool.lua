--- A sweep on several processes. Each process runs one task at a time; rows arrive in the order of the tasks. Processes
--- instead of threads, so that a rule that never returns can be terminated. For subcommands only.
local codec = require("actor.codec")
local command = require("actor.c.command")

local M = {}

local function name_of(task)
  if task.barrier then return ("%s, repeat %d"):format(task.barrier, task.repeat_) end
  return ("%s, %s, seed %d"):format(task.paper, task.run, task.seed)
end

---Returns the number of processes that a value of -j names; nil and a message if it names none.
---@param text? string a number or "auto", one for each core; default 1
---@return integer? jobs
---@return string? message
function M.jobs(text)
  local jobs = text == "auto" and command.cores() or tonumber(text or "1")
  if jobs and jobs % 1 == 0 and jobs >= 1 and jobs <= 1024 then return jobs end
  return nil, ("--jobs wants a number of processes from 1 to 1024, or auto, got '%s'"):format(text)
end

---Returns a function that runs tasks: in this process, or with more than one job in processes started with `args`. A
---progress bar names the tasks by `field`.
---@param options {jobs: integer, args: string[], execute: fun(task: table): table, field: string, label: string, quiet?: boolean}
---@return fun(tasks: table[], on_row: fun(row: table))
function M.executor(options)
  return function(tasks, on_row)
    local bar = require("actor.progress").new { total = #tasks, label = options.label, quiet = options.quiet }
    local function take(row, done)
      on_row(row)
      bar:update(done, tasks[done][options.field])
    end
    if options.jobs > 1 then
      M.run(tasks, options.jobs, options.args, take)
    else
      for i, task in ipairs(tasks) do take(options.execute(task), i) end
    end
    bar:finish()
  end
end

---Runs the tasks on `jobs` processes started with `args`.
---@param tasks (actor.sim.Task|actor.reproduce.Task)[]
---@param jobs integer
---@param args string[] arguments that make actorhost a worker that calls M.serve
---@param on_row fun(row: table, done: integer)
function M.run(tasks, jobs, args, on_row)
  local next_task, next_row, running, rows, doing = 1, 1, 0, {}, {}
  local function give(worker)
    local task = tasks[next_task]
    if not task then return end
    next_task = next_task + 1
    doing[worker] = task
    running = running + 1
    local bytes = codec.encode(task)
    assert(command.send(worker, bytes))
  end
  for _ = 1, math.min(jobs, #tasks) do give(command.spawn(args)) end
  while running > 0 do
    local worker, bytes, wrong = command.receive()
    local task = doing[worker]
    if not bytes then
      if bytes == nil then wrong = ("the process that simulated it ended: %s"):format(wrong) end
      error(task and ("%s: %s"):format(name_of(task), wrong) or wrong, 0)
    end
    doing[worker], running = nil, running - 1
    rows[task] = assert(codec.decode(bytes))
    give(worker)
    while tasks[next_row] and rows[tasks[next_row]] do
      local finished = tasks[next_row]
      next_row = next_row + 1
      on_row(rows[finished], next_row - 1)
      rows[finished] = nil
    end
  end
end

---The main loop of a worker process: runs until its parent has no more tasks.
---@param execute fun(task: actor.sim.Task): table
function M.serve(execute)
  for bytes in command.next_task do
    local row = codec.encode(execute(assert(codec.decode(bytes))))
    command.reply(row)
  end
end

return M
