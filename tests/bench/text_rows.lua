-- Rows to text and back beside Python's csv, json and float, in the root of the tree: `actorhost -n 1 --log-level warn
-- tests/bench/text_rows.lua [--rows 1000000] [--rounds 3]`.
-- Seconds are the least of the rounds, ours and Python's in turns, both without start-up. Files are in the folder of
-- the environment's TMPDIR.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { rows = 1000000, rounds = 3 }
local n = opt.rows
local folder = (os.getenv("TMPDIR") or "/tmp") .. "/actorhost-text-rows"
local rank_0 = actor.rank == 0

local function row_of(i) return { i, "name " .. i, i / 7, i % 2 == 0 } end
local function record_of(i) return { id = i, name = "name " .. i, share = i / 7, even = i % 2 == 0 } end

-- Runs on rank 0 alone; the other ranks wait.
local function python(figure, path)
  local seconds = math.huge
  if rank_0 then
    local pipe = assert(io.popen(("python3 tests/bench/text_rows.py %s '%s' %d"):format(figure, path, n)))
    seconds = tonumber(pipe:read("*a"):match("^%S+"))
    pipe:close()
  end
  actor.collective.barrier()
  return seconds
end

local function compare(figure, name, file, fn)
  local ours, theirs = math.huge, math.huge
  for _ = 1, opt.rounds do
    theirs = math.min(theirs, python(figure, folder .. "/" .. file))
    local began = actor.now()
    fn(folder .. "/" .. file)
    ours = math.min(ours, actor.now() - began)
    actor.collective.barrier()
  end
  if rank_0 then
    print(("%-48s %6.0f ms   Python %6.0f ms   %5.2fx of its speed"):format(name, ours * 1e3, theirs * 1e3, theirs / ours))
  end
end

if rank_0 then os.execute("mkdir -p '" .. folder .. "'") end
actor.collective.barrier()

compare("save_csv", "rows of four fields saved as CSV", "rows.csv", function(path)
  mr.generate(n, row_of):save(path .. ".saved", { format = "csv", overwrite = true })
end)
compare("save_jsonl", "records of four fields saved as JSON lines", "rows.jsonl", function(path)
  mr.generate(n, record_of):save(path .. ".saved", { format = "jsonl", overwrite = true })
end)
compare("load_csv", "CSV read, two fields added", "rows.csv", function(path)
  mr.load(path, { format = "csv" }):map(function(row) return row[1] + row[3] end):sum()
end)
compare("load_jsonl", "JSON lines read, two fields added", "rows.jsonl", function(path)
  mr.load(path, { format = "jsonl" }):map(function(row) return row.id + row.share end):sum()
end)

if rank_0 then
  local plain, fields = assert(io.open(folder .. "/numbers.txt", "w")), assert(io.open(folder .. "/fields.txt", "w"))
  for i = 1, n do
    plain:write(("%.15g\n"):format(i / 7))
    fields:write(("%d,%d,%.15g\n"):format(i, i % 100, i / 7))
  end
  plain:close()
  fields:close()
end
actor.collective.barrier()
compare("numbers", "lines to numbers, summed", "numbers.txt", function(path) mr.load(path):map(tonumber):sum() end)
compare("fields", "lines split into three numbers, gmatch", "fields.txt", function(path)
  mr.load(path):map(function(line)
    local row = {}
    for field in line:gmatch("[^,]+") do row[#row + 1] = tonumber(field) end
    return row[1] + row[3]
  end):sum()
end)
compare("fields", "lines split into three numbers, match", "fields.txt", function(path)
  mr.load(path):map(function(line)
    local a, _, b = line:match("([^,]*),([^,]*),([^,]*)")
    return tonumber(a) + tonumber(b)
  end):sum()
end)
compare("fields", "lines split into three numbers, format = \"csv\"", "fields.txt", function(path)
  mr.load(path, { format = "csv" }):map(function(row) return row[1] + row[3] end):sum()
end)
if rank_0 then os.execute("rm -rf '" .. folder .. "'") end
