-- actorhost advise [flags] TRACE|RUN: which barrier and merge rule a recorded or running job would learn fastest under.
-- The search is actor.sim.advise; this file is the command line.
local actor = require("actor")
local attach = require("actor.inspect.attach")
local command = require("actor.c.command")
local flags = require("actor.flags")
local recording = require("actor.inspect.recording")
local sim = require("actor.sim")
local specs = require("actor.policy.spec")
local text = require("actor.inspect.text")

local usage = [[
usage: actorhost advise [flags] TRACE|RUN

Replays the step times of a job under every barrier rule and merge rule, trains a model in each simulation, and ranks
the rules by the predicted time to a target. TRACE is a file of --record FILE.csv (FILE.csv#2: its second run). RUN is a
run in progress, named as for --attach: advise records it for a minute.
]]

---@type actor.flags.Flag[]
local known = {
  { name = "train", value = "MODEL", default = "linear", help = "the model, as of actorhost sim: linear, factorisation, mnist or model.lua; rate= is the job's rate" },
  { name = "target", value = "loss=X|accuracy=X", help = "default: 90 % of the decrease of the loss under the recorded rules" },
  { name = "watch", value = "SECONDS", kind = "number", default = 60, help = "how long a RUN is recorded" },
  { name = "record", value = "FILE", help = "where its trace is stored" },
  { name = "swap", help = "make the best rules the rules of the RUN, if they are faster within the interval" },
  { name = "barrier", value = "SPEC", help = "the recorded rule, if the trace does not name it" },
  { name = "merge", value = "SPEC", help = "the same for the merge rule" },
  { name = "optimisers", help = "compare the merge rules with a momentum too, which replace the job's optimiser: heloco, delayed_nesterov" },
  { name = "time", value = "SECONDS", kind = "number", help = "simulated at most (the recorded time)" },
  { name = "repeat", value = "N", kind = "integer", default = 10, help = "runs of each of the best rules, with other seeds" },
  { name = "seed", value = "N", kind = "integer", default = 1, help = "of the first run" },
  { name = "jobs", short = "j", value = "N|auto", default = "auto", help = "processes, or auto: one a core" },
  { name = "svg", value = "FILE", help = "the loss over time under the best rules" },
  { name = "png", value = "FILE", help = "the same as a picture (needs librsvg)" },
  { name = "json", help = "one JSON object instead of the table" },
  { name = "no-progress", help = "no progress bar" },
  { name = "worker" }, -- a process of -j
  { name = "help", short = "h", help = "this page" },
}

for _, flag in ipairs(attach.flags) do
  if flag.name ~= "attach" then table.insert(known, #known - 1, flag) end
end

local columns = [[
Columns: the predicted seconds to the target with their 95 % interval; runs that reach the target; the factor to the
recorded rules with its interval (corrected for the number of rows); steps of all workers each second; staleness, the
updates of other workers between a step's pull and its push.
]]

local drawn = 6 -- curves in the figure, beside the recorded rules
local bar_width = 24

-- --- the flags ---

local function target_of(word)
  if not word then return nil end
  local name, number = word:match("^(%a+)=(.+)$")
  local value = tonumber(number)
  if (name == "loss" or name == "accuracy") and value and value == value then return { name = name, value = value } end
  return nil, ("--target wants loss=X or accuracy=X, got '%s'"):format(word)
end

local function wrong_numbers(values)
  if values["repeat"] < 2 then return "--repeat wants a number of at least 2, since intervals need two runs" end
  if values.seed < 0 then return "--seed wants a whole number of at least 0" end
  if values.time and not (values.time > 0) then return "--time wants a number of seconds above 0" end
  if not (values.watch > 0) then return "--watch wants a number of seconds above 0" end
end

-- --- the output ---

local function name_of(one) return one.merge == "all" and one.barrier or one.barrier .. " with " .. one.merge end

local function interval(mean, format) return (format .. " to " .. format):format(math.max(0, mean.low), mean.high) end

local function cells_of(one, report)
  local runs, longest = #one.rows, 0
  for _, other in ipairs(report.ranked) do longest = math.max(longest, other.seconds.mean) end
  local more = one.reached < runs and "> " or ""
  return {
    one.barrier, one.merge, more .. ("%.4g"):format(one.seconds.mean), interval(one.seconds, "%.4g"), ("%d/%d"):format(one.reached, runs),
    one == report.recorded and "recorded" or ("%.2fx"):format(one.factor.mean),
    one == report.recorded and "" or interval(one.factor, "%.2f"),
    ("%.3g"):format(one.steps), ("%.1f"):format(one.staleness),
    ("#"):rep(math.max(1, math.floor(bar_width * one.seconds.mean / longest + 0.5))),
  }
end

local function conclusion(report)
  local best, recorded = report.ranked[1], report.recorded
  if best == recorded then return ("the recorded rules, %s, are the best; keep them"):format(name_of(recorded)) end
  if not (best.factor.low > 1) then
    return ("%s is first, but %d runs do not show that it is faster than the recorded rules, %s: keep them"):format(name_of(best), #best.rows,
      name_of(recorded))
  end
  return ("best: %s, %.2fx as fast as the recorded rules, %s (interval %.2fx to %.2fx)"):format(name_of(best), best.factor.mean, name_of(recorded),
    best.factor.low, best.factor.high)
end

local function show(report, values, path)
  local lines = {}
  for i, one in ipairs(report.ranked) do lines[i] = cells_of(one, report) end
  print(("recorded: %s, %d workers, %s a step, in %s"):format(name_of(report.recorded), report.workers, text.seconds(report.step), path))
  print(("model: %s; target: %s %.4g; compared %d pairs of rules, the best again with %d seeds from %d; %.4g s simulated"):format(values.train,
    report.target.name, report.target.value, report.compared, values["repeat"], values.seed, report.time))
  print(text.columns({ "barrier", "merge", ">seconds", ">interval", ">reached", ">factor", ">interval", ">steps/s", ">staleness", "" }, lines))
  for _, pair in ipairs(report.refused) do
    command.err(("actorhost advise: %s was not compared: %s"):format(name_of(pair), pair.why))
  end
  print(conclusion(report))
end

local function json_of(report, path)
  local json, rows = require("actor.console.json"), {}
  for i, one in ipairs(report.ranked) do
    rows[i] = {
      barrier = one.barrier, merge = one.merge, seconds = one.seconds.mean, seconds_low = one.seconds.low,
      seconds_high = one.seconds.high, reached = one.reached, runs = #one.rows, factor = one.factor.mean,
      factor_low = one.factor.low, factor_high = one.factor.high, steps = one.steps, staleness = one.staleness, recorded = one == report.recorded,
    }
  end
  return json.encode {
    trace = path, workers = report.workers, step = report.step, target = report.target, time = report.time,
    compared = report.compared, refused = setmetatable(report.refused, json.array), ranked = rows,
  }
end

local function save_figure(report, values)
  local rows, groups = {}, 0
  for _, one in ipairs(report.ranked) do
    if groups < drawn or one == report.recorded then
      groups = groups + 1
      for _, row in ipairs(one.rows) do
        row.barrier = name_of(one) .. (one == report.recorded and " (recorded)" or "")
        row.varied, row.series = {}, nil
        rows[#rows + 1] = row
      end
    end
  end
  local svg, wrong = sim.figures.draw(rows, {
    kind = report.target.name, varied = {}, subtitle = ("%d workers, model %s, target %.4g"):format(report.workers, values.train, report.target.value),
    log_y = report.target.name == "loss",
  })
  if not svg then return nil, wrong end
  local plot = require("actor.plot")
  if values.svg then
    local saved, message = plot.save(values.svg, svg)
    if not saved then return nil, message end
  end
  if values.png then return plot.png(values.png, svg) end
  return true
end

-- --- a run in progress ---

-- Whether the word names a trace: job.lua names the run of that job.
local function is_trace(word)
  if word:find("%.lua$") then return false end
  local file = io.open(word, "rb") or io.open((word:gsub("#%d+$", "")), "rb")
  if file then file:close() end
  return file ~= nil
end

-- Records a run into a file. Returns the connection and the file; nil and a message after an error.
local function record(word, values)
  values.attach = word
  local connection, run = attach.attach(values, { read_only = not values.swap })
  if not connection then return nil, ("%s is neither a file here nor a run: %s"):format(word, run) end
  local path = values.record or os.tmpname()
  local file, wrong = io.open(path, "wb")
  if not file then return nil, wrong end
  local bar = require("actor.progress").new { total = values.watch, label = "recording", quiet = values["no-progress"] or values.json }
  local rows, note = recording.collect(connection, values.watch, function(past) bar:update(math.min(past, values.watch)) end)
  bar:finish()
  file:write(rows or "")
  file:close()
  if rows then
    if note then command.err("actorhost advise: recorded less than asked for: " .. note) end
    return connection, path
  end
  os.remove(path)
  return nil, ("cannot record %s: %s"):format(run.url, note)
end

-- Makes the best rules the rules of the run.
local function swap(connection, report)
  local best, recorded = report.ranked[1], report.recorded
  if best == recorded or not (best.factor.low > 1) then
    print("the rules stay as they are")
    return true
  end
  for _, what in ipairs { "barrier", "merge" } do
    if best[what] ~= recorded[what] then
      local reply, why = connection:control { op = what, spec = best[what] }
      if not reply or reply.ok == false then
        return nil, ("cannot set the %s rule to %s: %s"):format(what, best[what], reply and reply.message or why)
      end
      print(("the %s rule is %s; it was %s"):format(what, best[what], reply.before or "?"))
    end
  end
  return true
end

-- --- running ---

local function main()
  local values, rest, fail = flags.command("advise", known, usage, columns)
  if not values then return rest end
  specs.runner = sim.modules.runner(require("actor.c.sim").load_rule)
  if values.worker then
    sim.pool.serve(sim.advise.execute)
    return 0
  end
  if #rest ~= 1 then return fail(2, #rest == 0 and "give a trace or a run\n" .. usage or "give one trace or run, not " .. #rest) end
  local wrong = wrong_numbers(values)
  if wrong then return fail(2, wrong) end
  local target, jobs
  target, wrong = target_of(values.target)
  if wrong then return fail(2, wrong) end
  jobs, wrong = sim.pool.jobs(values.jobs)
  if not jobs then return fail(2, wrong) end
  local trace, connection = rest[1], nil
  if not is_trace(trace) then
    connection, trace = record(trace, values)
    if not connection then return fail(3, trace) end
  elseif values.swap then
    return fail(2, "--swap needs a run in progress, and " .. trace .. " is a file")
  end
  local fine, report = pcall(sim.advise.run, {
    replay = trace, train = values.train, target = target, barrier = values.barrier, merge = values.merge, time = values.time,
    seeds = values["repeat"], seed = values.seed, optimisers = values.optimisers,
    execute = sim.pool.executor {
      jobs = jobs, args = { "advise", "--worker" }, execute = sim.advise.execute, field = "barrier", label = "advise",
      quiet = values["no-progress"] or values.json,
    },
  })
  if connection and not values.record then os.remove(trace) end
  if not fine then return fail(2, (tostring(report):gsub("^[^:]+:%d+: ", ""))) end
  if values.svg or values.png then
    local saved, message = save_figure(report, values)
    if not saved then return fail(3, message) end
  end
  if values.json then print(json_of(report, rest[1])) else show(report, values, rest[1]) end
  if values.swap then
    local done, message = swap(connection, report)
    if not done then return fail(3, message) end
  end
  return 0
end

return main()
