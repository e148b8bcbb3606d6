-- Jobs of progress_bar_test.cpp; the first argument selects the job.
local actor = require "actor"

local jobs = {}

-- Draws a bar six times, slowly enough for a redraw each time, and prints in between.
function jobs.job()
  local bar = actor.progress.new { total = 6, label = "training" }
  for i = 1, 6 do
    local began = actor.now()
    while actor.now() - began < 0.11 do end
    bar:update(i, "epoch " .. i)
    if i == 3 then print("a line") end
  end
  bar:finish()
  print("the end")
end

-- Draws a bar; then does the requested action while the bar is on the terminal.
function jobs.ends()
  local bar = actor.progress.new { total = 6, label = "training" }
  bar:update(1, "epoch 1")
  actor.collective.barrier() -- rank 0 has drawn
  local shell = "kill -INT $PPID"
  if actor.args[2] == "error" then error("broken", 0) end
  if actor.args[2] == "narrower" then shell = "stty cols 30 </dev/tty" end
  if actor.rank == 0 and actor.args[2] ~= "end" then os.execute(shell) end
  if actor.args[2] == "interrupt" then actor.sleep(100) end
  if actor.args[2] == "narrower" then bar:finish() end
end

-- Server 0 draws, in a different process than the printing worker.
function jobs.isolated()
  local bar = actor.progress.new { total = 4, label = "training" }
  local steps = 0
  actor.param.run {
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      steps = steps + 1
      bar:update(steps, "epoch")
      return tasks
    end,
    push = function(ctx)
      local began = actor.now()
      while actor.now() - began < 0.11 do end
      steps = steps + 1
      print("step " .. steps)
      return { { ctx.id, true } }
    end,
    stop = function(ctx) return ctx.step >= 4 end,
  }
  bar:finish()
  print("the end")
end

jobs[(...)](select(2, ...))
