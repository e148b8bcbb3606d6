-- s3:// URLs in mr.load, mr.whole_files, save and actor.data: the first argument selects the job.
-- object_storage_test.cpp runs them against an object storage of its own.
local actor = require "actor"
local mr = require "actor.mapreduce"
local data, tensor = actor.data, actor.tensor
local expect = require "expect"

local jobs = {}

-- Prints the number and the sum of the rows of each URL.
function jobs.sums(...)
  for _, url in ipairs { ... } do
    local rows = mr.load(url):map(tonumber)
    local count, sum = rows:count(), rows:sum()
    if actor.rank == 0 then print(url:match("^s3://data/(.*)$"), count, sum) end
  end
end

-- Counts the rows of a large object, which several tasks read.
function jobs.large(url)
  local rows = mr.load(url)
  assert(rows.partitions > 1, rows.partitions)
  local sum = rows:map(tonumber):sum()
  local csv = mr.load(url, { format = "csv", names = { "x" } }):map(function(row) return row.x end):sum()
  expect.same(sum, csv)
  if actor.rank == 0 then print(sum) end
end

function jobs.table(url)
  local rows = mr.load(url, { format = "csv", header = true })
  assert(rows.partitions > 1, rows.partitions)
  local sum = rows:map(function(row) return row.count end):sum()
  if actor.rank == 0 then print(sum) end
end

function jobs.whole(url)
  for _, pair in ipairs(mr.whole_files(url):collect()) do
    if actor.rank == 0 then print(pair[1], #pair[2]) end
  end
end

-- Plans to read a URL, and reads nothing.
function jobs.plan(url) mr.load(url) end

-- Prints the errors of some URLs.
function jobs.errors(...)
  for _, url in ipairs { ... } do
    local _, message = pcall(mr.load, url)
    if actor.rank == 0 then print(message) end
  end
end

-- An object changes after the job has planned to read it.
function jobs.changed(url)
  local rows = mr.load(url)
  actor.collective.barrier()
  if actor.rank == 0 then
    print("planned")
    while not io.open("changed") do actor.sleep(0.01) end
  end
  actor.collective.barrier()
  rows:count()
end

-- All readers and writers of actor.data.
function jobs.arrays()
  local t = tensor.arange(12):view(3, 4)
  data.npy.save("s3://data/a.npy", t)
  assert(tensor.allclose(data.npy.load("s3://data/a.npy"), t))
  data.npz.save("s3://data/deep/a.npz", { x = t, y = t[1] })
  local loaded = data.npz.load("s3://data/deep/a.npz")
  assert(tensor.allclose(loaded.x, t) and tensor.allclose(loaded.y, t[1]))
  for _, name in ipairs { "b.npz", "b.safetensors" } do
    tensor.save("s3://data/" .. name, { x = t })
    assert(tensor.allclose(tensor.load("s3://data/" .. name).x, t))
  end
  assert(tensor.allclose(tensor.load("s3://data/a.npy"), t))
  local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
  net:save("s3://data/net.npz")
  net:load_file("s3://data/net.npz")
  expect.raises(function() tensor.load("s3://data/none.npz") end, "s3://data/none.npz: the server replied 404: NoSuchKey")
  assert(tensor.allclose(data.csv("s3://data/in/a.csv"), tensor { { 1, 2 }, { 3, 4 } }))
  local x, y = data.libsvm("s3://data/in/a.libsvm")
  assert(x[1][2] == 5 and y[1] == 1)
  local lines = {}
  for line in data.lines("s3://data/in/lines.gz") do lines[#lines + 1] = line end
  expect.same(table.concat(lines, ","), "one,two")
  expect.raises(function() data.npy.load("s3://data/none.npy") end, "s3://data/none.npy: the server replied 404: NoSuchKey")
  expect.raises(function() data.npy.save("s3://data", t) end, "'s3://data' names no object")
  expect.raises(function() data.npy.save("http://127.0.0.1/x", t) end, "http://127.0.0.1/x: cannot be written")
  expect.raises(function() data.csv("s3:///x") end, "'s3:///x' names no bucket")
end

-- An object of several parts.
function jobs.large_array()
  local t = tensor.arange(5e6)
  data.npy.save("s3://data/large.npy", t)
  assert(tensor.allclose(data.npy.load("s3://data/large.npy"), t))
end

-- Rank 1 fails while rank 0 writes an object of several parts.
function jobs.stopped_array()
  if actor.rank == 0 then data.npy.save("s3://data/large.npy", tensor.arange(5e6)) end
  while not io.open("stop") do actor.sleep(0.01) end
  error("stopped on request")
end

function jobs.save(url, compress)
  local saved = mr.range(1, 1000):repartition(3):save(url, { compress = compress })
  expect.same(saved.rows, 1000)
  expect.same(mr.load(url):map(tonumber):sum(), 500500)
  expect.refused(function() mr.range(1, 10):save(url) end, url .. ": exists; overwrite = true replaces it")
  mr.range(1, 10):repartition(2):save(url, { overwrite = true, compress = compress })
  expect.same(mr.load(url):map(tonumber):sum(), 55)
end

function jobs.failing_save(url)
  mr.range(1, 1000):repartition(3):map(function(x) if x == 900 then error("no") end return x end):save(url)
end

-- Rank 0 writes all parts, and waits in the last part until the run ends. Rank 1 fails outside of the save.
function jobs.stopped_save(url)
  if actor.rank == 0 then
    mr.range(1, 30, 1, 3):map(function(x)
      if x == 21 then
        print("two parts")
        while true do actor.sleep(0.01) end
      end
      return x
    end):save(url)
  end
  while not io.open("stop") do actor.sleep(0.01) end
  error("stopped on request")
end

function jobs.refused_save(url)
  mr.range(1, 10):save(url, { overwrite = true })
end

-- Parts of several megabytes each.
function jobs.large_save(url)
  local row = ("x"):rep(1000)
  mr.range(1, 20000):repartition(1):map(function() return row end):save(url)
  expect.same(mr.load(url):count(), 20000)
end

-- Saves a state at every second step, and prints the step of the start.
function jobs.steps(last)
  local keeper = actor.checkpoint.new { steps = 2 }
  local state = keeper:load() or { step = 0, x = tensor.zeros(1000) }
  if actor.rank == 0 then print("from", state.step, state.x[1]) end
  while state.step < tonumber(last) do
    state = { step = state.step + 1, x = state.x + 1 }
    keeper:save(state)
  end
end

-- The same for the parameter server.
function jobs.updates(last)
  local summary = actor.param.run {
    init = function() return { w = tensor.zeros(1000) } end,
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "w" } } end
      return tasks
    end,
    push = function() return { { "w", tensor.zeros(1000) + 1 } } end,
    pull = actor.optim.add(),
    stop = function(ctx) return ctx.updates >= tonumber(last) end,
    checkpoint = { steps = 5 },
  }
  if actor.rank == 0 then print(summary.updates >= tonumber(last)) end
end

function jobs.checkpoint(url) mr.range(1, 10):checkpoint(url) end

jobs[(...)](select(2, ...))
