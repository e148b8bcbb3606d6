-- The cost of a change. Runs the same benchmarks of two builds in turns, each build first equally often. Prints for
-- each figure both medians, and the median and the quartiles of the ratios of all pairs. On a shared machine only such
-- ratios are meaningful. The same folder twice shows the noise.
--
--   luajit tests/bench/in_turns.lua BEFORE AFTER [PAIRS]     two build folders with ACTORHOST_BENCH=ON; 15 pairs
--   VIEWED=1 luajit tests/bench/in_turns.lua SAME SAME       the second of a pair serves an open page (curl)
local before, after, pairs_wanted = arg[1], arg[2], tonumber(arg[3] or 15)
assert(before and after and pairs_wanted > 1, "in_turns.lua BEFORE AFTER [PAIRS]")
local viewed = os.getenv("VIEWED")

local lua = "%s/bindings/actorhost -n 2 --no-progress --log-level warn %s tests/bench/"
local commands = {
  lua .. "collectives.lua allreduce 8 1024 1048576", lua .. "collectives.lua barrier 0", lua .. "small_steps.lua",
  lua:gsub("-n 2", "%1 --isolate") .. "collectives.lua allreduce 8 1048576",
}
if not viewed then table.insert(commands, "%s/tests/bench/param_bench 3 %s 2>/dev/null") end

-- The numbers of each line of the output, by the line's words. A line without words is keyed by its first two numbers,
-- ranks and bytes.
local function run(command, build, flags)
  local figures, order = {}, {}
  for line in io.popen(command:format(build, flags)):lines() do
    local words, numbers = line:match("^(%a.-)%s%s+(%d.*)$")
    if not words then words, numbers = line:match("^%s+(%d+%s+%d+)%s+(.*)$") end
    if not words then words, numbers = line:gsub("%f[%w.]%d[%d.e+]*", "#"):gsub("%s+", " "), line end
    local place = 0
    for number in numbers:gmatch("%f[%w.]%d[%d.e+]*") do
      place = place + 1
      local name = words .. " [" .. place .. "]"
      figures[name], order[#order + 1] = tonumber(number), name
    end
  end
  return figures, order
end

local function run_after(command)
  if not viewed then return run(command, after, "") end
  local address = "127.0.0.1:" .. 20000 + math.random(20000)
  local viewer = "(curl -sN --retry 20 --retry-connrefused --retry-delay 1 -m 60 http://%s/events >/dev/null) & "
  return run(viewer:format(address) .. command, after, "--dashboard " .. address)
end

local function quantile(values, q)
  table.sort(values)
  return values[math.floor(q * (#values - 1) + 0.5) + 1]
end

math.randomseed(os.time())
for _, command in ipairs(commands) do
  local a, b, ratios, order = {}, {}, {}, nil
  for pair = 1, pairs_wanted do
    local other = pair % 2 == 0 and run_after(command) or nil
    local one, names = run(command, before, "")
    other, order = other or run_after(command), order or names
    for name, value in pairs(one) do
      for list, v in pairs { [a] = value, [b] = other[name], [ratios] = value > 0 and other[name] and other[name] / value or nil } do
        list[name] = list[name] or {}
        table.insert(list[name], v)
      end
    end
  end
  print(command:format("BUILD", ""))
  for _, name in ipairs(order) do
    local own, its, r = a[name], b[name], ratios[name]
    if r and quantile(own, 0) ~= quantile(own, 1) then -- otherwise a constant, such as a goal
      print(("%10.4g %10.4g   %.3fx (%.3f to %.3f)  %s"):format(quantile(own, 0.5), quantile(its, 0.5), quantile(r, 0.5),
        quantile(r, 0.25), quantile(r, 0.75), name))
    end
  end
end
