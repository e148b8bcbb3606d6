-- The algorithms of collectives beside each other: `actorhost -n 4 --isolate tests/bench/algorithms.lua [operation]
-- [bytes...]`.
-- operation: allreduce (default), broadcast or reduce. All algorithms take turns in each round, so that other load on
-- the machine affects all alike. Each line shows, for one size, microseconds of a call by each algorithm (median of the
-- rounds), the fastest algorithm, and the automatic choice ("automatic").
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local n, me = actor.size, actor.rank

local args = { ... }
local what = args[1] or "allreduce"
local sizes = {}
for i = 2, #args do sizes[#sizes + 1] = assert(tonumber(args[i]), "bytes must be numbers") end
if #sizes == 0 then sizes = { 4, 1024, 16384, 65536, 262144, 1048576, 4194304, 16777216, 104857600 } end

local rounds, batch_seconds = 7, 0.02
local most_of_star = 4194304 -- all bytes pass through one rank

local algorithms = {
  allreduce = { "star", "ring", "recursive_doubling", "halving_doubling", "hierarchical" },
  broadcast = { "star", "tree", "chain", "hierarchical" },
  reduce = { "star", "tree", "chain" },
}
local names = assert(algorithms[what], "no such operation")

local calls = {
  allreduce = function(t, options) return co.allreduce(t, "sum", options) end,
  broadcast = function(t, options) return co.broadcast(t, 0, options) end,
  reduce = function(t, options) return co.reduce(t, "sum", 0, options) end,
}

-- Seconds of a call on the slowest rank.
local function measure(t, options, times)
  co.barrier()
  local from = actor.now()
  for _ = 1, times do calls[what](t, options) end
  return co.allreduce(tensor.full({ 1 }, (actor.now() - from) / times, { dtype = "float64" }), "max"):get(1)
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

local function print_row(name, figures)
  if me ~= 0 then return end
  local line = ("%-10s"):format(name)
  for _, figure in ipairs(figures) do line = line .. ("%19s"):format(figure) end
  print(line)
end

local function compare(bytes)
  local t = tensor.full({ math.max(1, math.floor(bytes / 4)) }, me + 1)
  local ways = { {} }
  for _, name in ipairs(names) do ways[#ways + 1] = (name ~= "star" or bytes <= most_of_star) and { algorithm = name } or false end
  local times, taken = {}, {}
  for i, options in ipairs(ways) do
    taken[i] = {}
    if options then times[i] = math.max(1, math.floor(batch_seconds / measure(t, options, 1))) end
  end
  for round = 1, rounds do
    for i, options in ipairs(ways) do
      if options then taken[i][round] = measure(t, options, times[i]) end
    end
  end
  local figures, best = {}, nil
  for i in ipairs(ways) do
    local figure = #taken[i] > 0 and median(taken[i])
    figures[i] = figure and ("%.1f"):format(figure * 1e6) or "-"
    if i > 1 and figure and (not best or figure < best[1]) then best = { figure, names[i - 1] } end
  end
  figures[#figures + 1] = best[2]
  print_row(tostring(bytes), figures)
end

local heads = { "automatic" }
for i, name in ipairs(names) do heads[i + 1] = name end
heads[#heads + 1] = "fastest"
print_row(("%s %d"):format(what, n), heads)
for _, bytes in ipairs(sizes) do compare(bytes) end
