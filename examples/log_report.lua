-- Summarises a web server's log: `actorhost -n 4 examples/log_report.lua [--log PATH|FOLDER|GLOB] [--report FOLDER]`.
-- Lines have the combined format with the request's seconds at the end; without a path the job generates lines.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { log = "", lines = 20000, report = "log_report" }
local seed = actor.seed

local function made_up(i)
  local random = actor.rng(seed, i)
  local path = ("/page/%d"):format(random:int(random:int(100)))
  local status = ({ 404, 500, 304 })[random:int(20)] or 200
  return ('10.0.0.%d - - [21/Nov/2026:%02d:%02d:%02d +0000] "GET %s HTTP/1.1" %d %d "-" "made-up/1.0" %.3f'):format(
    random:int(254), random:below(24), random:below(60), random:below(60), path, status, random:int(90000),
    random:exponential(0.05))
end

local broken = mr.accumulator(0)

local function parse(line)
  local hour, path, status, seconds = line:match('%[[^:]*:(%d%d):.-%] "%S+ (%S+)[^"]*" (%d%d%d) .-(%d+%.?%d*)%s*$')
  if not hour then
    broken:add(1)
    return
  end
  return { { hour = hour, path = path, status = status, seconds = tonumber(seconds) } }
end

local lines = opt.log ~= "" and mr.load(opt.log) or mr.generate(opt.lines, made_up)
local requests = lines:flatmap(parse):cache()
local n = requests:count()
print(("%d requests, %d invalid lines"):format(n, broken:value()))

local function count_by(field)
  return requests:map(function(request) return request[field], 1 end):reduce_by_key(mr.sum)
end

print("requests by status:")
for _, pair in ipairs(count_by("status"):sort_by_key():collect()) do print(("  %s %8d"):format(pair[1], pair[2])) end

print("most wanted:")
for _, pair in ipairs(count_by("path"):top(3, function(_, count) return count end)) do
  print(("  %-12s %8d"):format(pair[1], pair[2]))
end

local slowest = requests:top(math.ceil(n / 100), function(request) return request.seconds end)
if n > 0 then
  print(("slowest percentile: %.3f s and more, the slowest %.3f s for %s"):format(
    slowest[#slowest].seconds, slowest[1].seconds, slowest[1].path))
end

local saved = count_by("hour"):sort_by_key({ partitions = 1 })
  :save(opt.report, { format = "csv", header = { "hour", "requests" }, overwrite = true })
print(("requests of %d hours: %s/part-00000.csv"):format(saved.rows, opt.report))
