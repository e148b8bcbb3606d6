-- The interface of param.run: the first argument selects the job. param_test.cpp has further runs of it.
local actor = require "actor"
local each = require "each_worker"
local expect = require "expect"

local jobs = {}

-- The run of the jobs, which change parts of it: two steps in which every worker adds 1 to x.
local param, tensor = actor.param, actor.tensor
local run = {
  init = function() return { x = tensor.zeros(1), name = "counter" } end,
  schedule_local = function() return { "x" } end,
  push = function() return { { "x", tensor.ones(1) } } end,
  pull = actor.optim.add(),
  stop = function(ctx) return ctx.step >= 2 end,
}

function jobs.output_of_server_callbacks_reaches_user()
  print("everybody's line")
  function run.init() print "init" return { x = tensor.zeros(1) } end
  function run.stop(ctx) print(("stop %d"):format(ctx.step)) return ctx.step >= 2 end
  function run.barrier(view) if view.id == 0 then print("rule", view.step) end return view:min() >= view.step end
  function run.pull(_, updates)
    print "pull"
    local sum = param.get("x")
    for _, update in ipairs(updates) do sum = sum + update[2] end
    return { { "x", sum } }
  end
  param.run(run)
  print("over")
end

-- With error feedback the stored value is the sum of the pushes, except for the residuals of the workers: half a level,
-- or with topk the elements of some 60 steps.
-- case: residuals int8 flags: --servers {1,3} at: rehearsal:2
-- case: residuals topk:0.05+fp16 flags: --servers {1,3} at: rehearsal:2
function jobs.residuals(filter)
  local n, selects = 80000, filter:find "topk" ~= nil
  local pushed = tensor.zeros(n)
  run.init = function() return { x = tensor.zeros(n) } end
  run.push = function(ctx)
    local step = tensor.uniform(n, { low = 0.001, high = 0.1, seed = 1000 * ctx.id + ctx.step })
    pushed:add_(step)
    return { { "x", step } }
  end
  run.stop = function(ctx) return ctx.step >= 40 end
  run.filter = { push = filter }
  param.run(run)
  local sum, stored = actor.collective.allreduce(pushed), param.get("x")
  local most = (stored - sum):abs():max()
  assert(most <= (selects and 2 * 60 * 0.1 or 2 * 0.1 / 510 * 1.1), most)
  local share = stored:sum() / sum:sum()
  assert(math.abs(share - 1) < (selects and 0.6 or 1e-4), share)
end

-- case: param_get_of_several_keys_gives_their_values_and_steps flags: --servers 2 at: threads
function jobs.param_get_of_several_keys_gives_their_values_and_steps()
  param.run(run)
  local values, steps = param.get { "x", "missing", "name" }
  assert(values[1]:get(1) == 6 and steps[1] == 2 and values[2] == nil and steps[2] == nil)
  assert(values[3] == "counter" and steps[3] == 0 and #param.get {} == 0)
  expect.raises(function() param.get { "x", {} } end, "param.get: key 2")
end

-- param.start takes a barrier, like the original, and nothing else.
-- case: param_start_takes_barrier at: threads
function jobs.param_start_takes_barrier()
  param.register_schedule(each(function(id) return { { "work", id } } end))
  param.register_push(function(id) return { { id, true } } end)
  param.register_stop(run.stop)
  param.register_barrier(function() error("not this one") end)
  expect.raises(function() param.start("bsp", "job", "url") end, "param.start takes a barrier or nothing, got 3 arguments")
  expect.raises(function() param.start("bps") end, "there is no rule 'bps'")
  expect.same(param.start("bsp").steps, 2)
end

function jobs.log_appends_unused_arguments()
  actor.log.info("text", 7, nil, true)
  actor.log.info("%d of %s%%", 3, "ten", "more", 1)
  actor.log.info("100%")
  actor.log.info(7, "text")
end

-- param.train refuses callbacks that it makes itself, and stores the final parameters in the model of every worker.
-- case: param_train_refuses_own_callbacks at: threads
function jobs.param_train_refuses_own_callbacks()
  local net = actor.nn.sequential { actor.nn.linear(2, 2, { init = "zeros" }) }
  local train = {
    net = net,
    batch = function(id) return "of worker", id end,
    loss = function(model, what, id)
      assert(model == net and what == "of worker" and id == actor.id)
      for _, gradient in pairs(net.grads) do gradient:fill_(-1) end
    end,
    pull = actor.optim.add { scale = -1 }, merge = "mean",
    stop = function(ctx) return ctx.step >= 3 end,
  }
  assert(param.train(train).updates == 9 and net.params["1.weight"]:mean() == 3 and net.params["1.bias"]:mean() == 3)
  train.push = print
  expect.raises(function() param.train(train) end, "param.train makes 'push' itself")
  expect.raises(function() param.train { net = {}, batch = print } end, "bad argument 'net' to param.train")
end

-- Trains a net; the fourth image on worker 1 has a NaN.
-- case: param_train_meets_nan skip at: threads
function jobs.param_train_meets_nan(on_nan)
  local nn, tensor = actor.nn, actor.tensor
  local net = nn.input { 3 }:linear(4, "tanh"):linear(2):network { seed = 1 }
  local steps = 0
  param.train {
    net = net, pull = actor.optim.sgd { lr = 0.1 }, merge = "mean", barrier = "bsp",
    on_nan = on_nan ~= "default" and on_nan or nil,
    batch = function(id)
      steps = steps + 1
      return tensor.full({ 2, 3 }, steps == 4 and id == 1 and 0 / 0 or 0.5), tensor.ones(2)
    end,
    stop = function(ctx) return ctx.step >= 6 end,
  }
  assert(net.flat_params:is_finite())
end

-- The named callback never returns; with "none" all callbacks return.
function jobs.stuck(callback)
  if callback ~= "none" then
    run[callback] = function() while true do end end
  end
  param.run(run)
end

function jobs.runs() param.run(run) end

function jobs.waits() actor.collective.barrier() end

-- case: mean flags: --barrier {bsp,backup:0} at: threads
function jobs.mean()
  run.merge = "mean"
  assert(param.run(run).updates == 6 and param.get("x"):get(1) == 2)
end

-- A server's script ends before its param.run, in one of many ways.
function jobs.server_ends(how)
  local server = actor.role == "server"
  if how == "before" and server then return end
  if how == "of all but rank 0" and actor.rank ~= 0 then return end
  if how == "second shard" and actor.shard == 1 then return end
  if how == "raises" and server then error "broken" end
  if how == "exits" and server then os.exit(0) end
  if how == "between" then
    param.run(run)
    if server then return end
  elseif how == "after values" then
    if not server then param.set("a", 7) end
    if server then return end
    actor.collective.barrier()
    assert(param.get("a") == 7)
  end
  param.run(run) -- no server calls this
end

-- A server serves values until the workers end, also after the end of its script.
-- case: server_has_values flags: --servers {1,2} at: threads isolate hosts
function jobs.server_has_values()
  if actor.role == "server" then return end
  param.set("a" .. actor.rank, actor.rank)
  actor.collective.barrier()
  for rank = 0, actor.size - 1 do assert(param.get("a" .. rank) == rank) end
  expect.same(#param.keys(), 3)
end

jobs[(...)](select(2, ...))
