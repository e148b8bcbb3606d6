-- What a change costs: runs the same benchmarks of two builds in turns and prints, for each figure, both medians and the
-- ratio, pair by pair: its median and quartiles. On a machine that others use too, only such ratios say something.
--
--   luajit tests/bench/in_turns.lua BEFORE AFTER [PAIRS]     two build folders with ACTORHOST_BENCH=ON; 15 pairs
--   VIEWED=1 luajit tests/bench/in_turns.lua SAME SAME       the second of a pair serves a page that is watched (curl)
local before, after, pairs_wanted = arg[1], arg[2], tonumber(arg[3] or 15)
assert(before and after, "in_turns.lua BEFORE AFTER [PAIRS]")
local viewed = os.getenv("VIEWED")

local lua = "%s/bindings/actorhost -n 2 --no-progress --log-level warn %s tests/bench/"
local commands = {
  lua .. "collectives.lua allreduce 8 1024 1048576", lua .. "collectives.lua barrier 0", lua .. "small_steps.lua",
}
if not viewed then table.insert(commands, "%s/tests/bench/param_bench 3 %s 2>/dev/null") end

-- The numbers of each line of the output, by the line's words.
local function run(command, build, flags)
  local pipe = assert(io.popen(command:format(build, flags)))
  local figures, order = {}, {}
  for line in pipe:lines() do
    local place, label, numbers = 0, line:match("^(%a.-)%s%s+(%d.*)$")
    local words = label or (line:gsub("%f[%w.]%d[%d.e+]*", "#"):gsub("%s+", " "))
    for number in (numbers or line):gmatch("%f[%w.]%d[%d.e+]*") do
      place = place + 1
      local name = words .. " [" .. place .. "]"
      if command:find("collectives") then name = ("%s bytes [%d]"):format(line:match("^%s*%S+%s+(%d+)"), place) end
      figures[name], order[#order + 1] = tonumber(number), name
    end
  end
  pipe:close()
  return figures, order
end

local function quantile(values, q)
  table.sort(values)
  return values[math.floor(q * (#values - 1) + 0.5) + 1]
end

-- The second of a pair, with its viewer, which ends when the run does.
local function run_after(command)
  if not viewed then return run(command, after, "") end
  local address = "127.0.0.1:" .. 20000 + math.random(20000)
  local viewer = "(curl -sN --retry 20 --retry-connrefused --retry-delay 1 -m 60 http://%s/events >/dev/null) & "
  return run(viewer:format(address) .. command, after, "--dashboard " .. address)
end

math.randomseed(os.time())
for _, command in ipairs(commands) do
  local a, b, ratios, order = {}, {}, {}, nil
  for pair = 1, pairs_wanted do -- each is first as often as the other
    local one, other, names
    if pair % 2 == 0 then other = run_after(command) end
    one, names = run(command, before, "")
    other = other or run_after(command)
    order = order or names
    for name, value in pairs(one) do
      if other[name] and value > 0 then
        for list, v in pairs { [a] = value, [b] = other[name], [ratios] = other[name] / value } do
          list[name] = list[name] or {}
          table.insert(list[name], v)
        end
      end
    end
  end
  print(command:format("BUILD", ""))
  for _, name in ipairs(order) do
    local r = ratios[name]
    if r and quantile(a[name], 0.5) ~= quantile(a[name], 1) then
      print(("%10.4g %10.4g   %.3fx (%.3f to %.3f)  %s"):format(quantile(a[name], 0.5), quantile(b[name], 0.5), quantile(r, 0.5),
        quantile(r, 0.25), quantile(r, 0.75), name))
    end
  end
end
