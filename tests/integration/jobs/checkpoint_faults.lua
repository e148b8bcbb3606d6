-- The job of checkpoint_faults_test.cpp.
local actor = require "actor"

-- Two updates a step, with a checkpoint after each step; `--spoil` puts a file in the place of the checkpoint folder.
local opt = actor.options { steps = 3, spoil = false }
print "begins"
local summary = actor.param.run {
  init = function() return { x = actor.tensor.zeros(1) } end,
  schedule_local = function() return { "x" } end,
  push = function() return { { "x", actor.tensor.ones(1) } } end,
  pull = actor.optim.add(),
  checkpoint = { steps = 1, dir = "own" },
  stop = function(ctx)
    if opt.spoil and ctx.step == 2 then -- the writer may be at work there
      os.execute "for i in $(seq 100); do mv own gone$i; touch own; [ -f own ] && break; done 2>/dev/null"
    end
    return ctx.step >= opt.steps
  end,
}
print("ends", summary.updates)
