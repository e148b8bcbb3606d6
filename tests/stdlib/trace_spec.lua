--- Traces of --record: whole, truncated and malformed files, and their summaries.
local trace = require("actor.trace")
local rng = require("actor").rng
local text_file = require("text_file")

local function read(text) return text_file.with(text, trace.read) end

local header = [[
# actorhost trace 1
# version=0.1.0
# job=job.lua
# barrier=bsp
event,id,step,time,released,compute
]]

-- Two workers under BSP for two steps; worker 1 is slow, and worker 2 joins, begins a step and fails.
local whole = header .. [[
run,1,,0.000000000,,
join,0,0,0.000000000,,
join,1,0,0.000000000,,
step,0,1,1.500000000,0.500000000,0.750000000
step,1,1,4.500000000,0.500000000,3.000000000
join,2,1,4.500000000,,
step,0,2,6.000000000,5.000000000,0.500000000
open,2,1,7.000000000,5.000000000,
leave,2,1,7.000000000,,
open,1,1,8.000000000,5.000000000,
stop,,,8.000000000,,
]]

local second = [[
run,2,,10.000000000,,
# barrier=asp
join,0,7,10.000000000,,
step,0,8,11.000000000,10.250000000,0.500000000
]]

test("a trace is read into workers with their steps, in times relative to their run", function()
  local t = read(whole)
  equal(t.header, { version = "0.1.0", job = "job.lua", barrier = "bsp" })
  equal(t.note, nil)
  equal(#t.runs, 1)
  local run = t.runs[1]
  equal({ run.index, run.start, run.stop, run.last, #run.workers }, { 1, 0, 8, 8, 3 })
  equal(run.workers[1], {
    id = 0, joins = { { time = 0, step = 0 } }, leaves = {}, step = 2, counted = true,
    steps = { 1, 2 }, ready = { 0, 1.5 }, released = { 0.5, 5 }, time = { 1.5, 6 }, compute = { 0.75, 0.5 },
    waits = { { from = 6, to = 8 } },
  })
  equal(run.workers[2].open, { step = 1, released = 5 })
  local lost = run.workers[3]
  equal({ lost.counted, lost.joins, lost.leaves, lost.open, lost.waits },
    { false, { { time = 4.5, step = 1 } }, { { time = 7, step = 1 } }, { step = 1, released = 5 },
      { { from = 4.5, to = 5 } } })
end)

test("runs of one file have separate times and headers", function()
  local t = read(whole .. second .. "stop,,,11.500000000,,\n")
  equal(#t.runs, 2)
  local run = t.runs[2]
  equal({ run.index, run.start, run.stop, run.header.barrier, run.header.job }, { 2, 10, 1.5, "asp", "job.lua" })
  equal(t.runs[1].header.barrier, "bsp")
  equal({ run.workers[1].steps, run.workers[1].released, run.workers[1].time }, { { 8 }, { 0.25 }, { 1 } })
end)

test("a worker without work leaves and joins again at a later step", function()
  local t = read(header .. [[
run,1,,0.0,,
join,5,0,0.0,,
step,5,1,1.0,0.0,1.0
leave,5,1,2.0,,
join,5,4,6.0,,
step,5,5,8.0,7.0,0.5
stop,,,9.0,,
]])
  local worker = t.runs[1].workers[1]
  equal({ worker.steps, worker.ready, worker.step, #worker.joins }, { { 1, 5 }, { 0, 6 }, 5, 2 })
  equal(worker.waits, { { from = 1, to = 2 }, { from = 8, to = 9 } })
  near(trace.summary(t.runs[1]).workers[1].waiting, (1 + 1 + 1) / 5)
end)

test("the file of a killed run is read up to its last complete row, with a note", function()
  local cut = read(whole .. second:sub(1, -5))
  equal(cut.note, "line 20 is cut off and left out; run 2 has no stop")
  equal({ #cut.runs, cut.runs[2].stop, #cut.runs[2].workers[1].steps }, { 2, nil, 0 })
  local unfinished = read(whole .. second)
  equal(unfinished.note, "run 2 has no stop")
  equal(unfinished.runs[2].last, 1)
  equal(trace.summary(unfinished.runs[2]).mean_step, 8)
  equal(read(whole:sub(1, -2)).note, "line 16 is cut off and left out; run 1 has no stop")
  equal(#read(header).runs, 0)
end)

test("every prefix of a trace is read, or is an error inside the header", function()
  local text = whole .. second
  for size = 0, #text do
    local fine, message = pcall(read, text:sub(1, size))
    if size < #header then
      assert(not fine and (message:find("ends in its header", 1, true) or message:find("nothing was recorded", 1, true)))
    else
      assert(fine, message)
      if size < #text then assert(#message.runs <= 2) end
    end
  end
end)

local malformed = {
  { "", "1: nothing was recorded" },
  { "x,y\n", "1: not a trace: expected '# actorhost trace 1', got 'x,y'" },
  { "# actorhost trace 2\n", "1: not a trace" },
  { "# actorhost trace 1\n# seed=1\n", "3: the trace ends in its header" },
  { "# actorhost trace 1\n# seed\n", "2: expected '# key=value', got '# seed'" },
  { "# actorhost trace 1\nevent,id\n", "2: expected 'event,id,step,time,released,compute', got 'event,id'" },
  { header .. "join,0,0,0.0,,\n", "6: 'join' outside of a run" },
  { header .. "run,2,,0.0,,\n", "6: run 2, expected 1" },
  { header .. "run,,,0.0,,\n", "6: run nil, expected 1" },
}
-- Rows after a run of worker 0, from line 8 on.
local rows = {
  { "", "expected a row 'event,id,step,time,released,compute', got ''" },
  { "step,0,1,1.0,0.0", "expected a row" },
  { "step,0,1,1.0,0.0,0.5,7", "expected a row" },
  { "step,0,1,nan,0.0,0.5", "expected a row" },
  { "step,0,1,1e3,0.0,0.5", "expected a row" },
  { "step,0,1,-1.0,0.0,0.5", "expected a row" },
  { "step,-1,1,1.0,0.0,0.5", "expected a row" },
  { "step,0,1,,0.0,0.5", "expected a row" },
  { "step,0,1," .. ("9"):rep(400) .. ",0.0,0.5", "a row of 417 characters" },
  { "dance,0,1,1.0,,", "unknown event 'dance'" },
  { "step,,1,1.0,0.0,0.5", "the worker's id is missing" },
  { "step,0,,1.0,0.0,0.5", "the step is missing" },
  { "step,0,2,1.0,0.0,0.5", "step 2 of worker 0, expected 1" },
  { "step,7,1,1.0,0.0,0.5", "step of worker 7, which has not joined" },
  { "step,0,1,1.0,,0.5", "the time of release is missing" },
  { "step,0,1,1.0,.,0.5", "the time of release is missing" },
  { "step,0,1,1.0,0.0,", "the time of work is missing" },
  { "step,0,1,1.0,2.0,0.5", "worker 0 is released at 2.000000000, after the row's own time" },
  { "step,0,1,1.0,0.0,1.5", "worker 0 has worked for 1.500000000 s of the 1.000000000 s of its step" },
  { "step,0,1,1.0,0.0,0.5\nstep,0,2,2.0,0.5,0.5", "worker 0 is released at 0.500000000, before it was ready", 2 },
  { "step,0,1,1.0,0.0,0.5\nstep,0,2,0.9,0.5,0.1", "time goes back from 1.000000000 to 0.900000000", 2 },
  { "join,0,0,1.0,,", "worker 0 joins a second time" },
  { "leave,0,3,1.0,,", "leave 3 of worker 0, expected 0" },
  { "leave,0,0,1.0,,\nleave,0,0,1.0,,", "leave of worker 0, which has not joined", 2 },
  { "leave,0,0,1.0,,\njoin,0,,1.0,,", "worker 0 joins at a step before its own", 2 },
  { "open,0,0,1.0,0.5,\nopen,0,0,1.0,0.5,", "worker 0 has two open steps", 2 },
  { "open,0,0,1.0,0.5,\nstep,0,1,1.0,0.5,0.1", "step of worker 0, whose last one is open", 2 },
  { "stop,,,1.0,,\nstop,,,1.0,,", "'stop' outside of a run", 2 },
  { "stop,,,1.0,,\nrun,1,,2.0,,", "run 1, expected 2", 2 },
  { "# no key", "expected '# key=value'" },
}
for _, row in ipairs(rows) do
  local before = header .. "run,1,,0.0,,\njoin,0,0,0.0,,\n"
  malformed[#malformed + 1] = { before .. row[1] .. "\n", (row[3] or 1) + 7 .. ": " .. row[2] }
end

test("an invalid or impossible trace is an error with the caller's line, the file and its line", function()
  for i, case in ipairs(malformed) do
    text_file.with(case[1], function(path)
      local fine, message = pcall(function() return trace.read(path) end)
      assert(not fine, "case " .. i .. " was read: " .. case[1])
      assert(message:find("trace_spec.lua:%d+: trace.read: "), message)
      local expected = "trace.read: " .. path .. ":" .. case[2]
      assert(message:find(expected, 1, true), ("case %d: expected %s, got %s"):format(i, expected, message))
    end)
  end
end)

test("errors name a missing file and a wrong argument", function()
  raises(function() trace.read("/nowhere/run.csv") end, "trace_spec.lua:%d+: trace.read: /nowhere/run.csv: No such file")
  raises(function() trace.read(7) end, "trace_spec.lua:%d+: bad argument 'path' to trace.read: expected string, got number")
  raises(function() trace.summary() end, "bad argument 'run' to trace.summary")
end)

test("damaged traces are read or are an error with a line, and cause no other failure", function()
  local random = rng(scratch_seed)
  local text = whole .. second
  local refused = 0
  for _ = 1, 400 do
    local bytes = text
    for _ = 1, random:int(1, 3) do
      local at = random:int(1, #bytes)
      local what = random:int(1, 4)
      local put = what == 1 and "" or what == 2 and string.char(random:int(0, 255)) or what == 3 and "9" or "\n"
      bytes = bytes:sub(1, at - 1) .. put .. bytes:sub(at + random:int(0, 2))
    end
    local fine, result = pcall(read, bytes)
    if fine then
      for _, run in ipairs(result.runs) do trace.summary(run) end
    else
      refused = refused + 1
      assert(result:find("trace.read: [^:]+:%d+: "), result)
    end
  end
  assert(refused > 100)
end)

test("a summary counts steps begun before the stop, and shares of time", function()
  local s = trace.summary(read(whole).runs[1])
  equal({ s.seconds, s.completed, s.mean_step, s.min_step, s.max_step }, { 8, 3, 2, 2, 2 })
  near(s.compute, (0.75 + 3 + 0.5) / 3)
  near(s.rest, (0.25 + 1 + 0.5) / 3)
  equal({ s.workers[1].started, s.workers[2].started, s.workers[2].completed }, { 2, 2, 1 })
  near(s.workers[1].compute, 0.625)
  near(s.workers[1].rest, 0.375)
  near(s.workers[1].waiting, (0.5 + 3.5 + 2) / 8)
  near(s.workers[2].waiting, (0.5 + 0.5) / 8)
  equal({ s.workers[3].id, s.workers[3].counted, s.workers[3].completed }, { 2, false, 0 })
  near(s.workers[3].waiting, 0.5 / 2.5)
  assert(s.workers[3].compute ~= s.workers[3].compute)
end)

test("a long trace is read within a second or two", function()
  local lines = { header, "run,1,,0.0,,\njoin,0,0,0.0,,\n" }
  for i = 1, 20000 do lines[#lines + 1] = ("step,0,%d,%d.5,%d.0,0.25\n"):format(i, i, i) end
  local t = read(table.concat(lines))
  equal(#t.runs[1].workers[1].steps, 20000)
  near(trace.summary(t.runs[1]).compute, 0.25)
end)
