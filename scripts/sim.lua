-- actorhost sim: simulates barrier rules on virtual time. The simulator is host/sim, and actor.sim runs it; this file
-- is the command line.
local actor = require("actor")
local barrier = require("actor.barrier")
local merge = require("actor.merge")
local specs = require("actor.policy.spec")
local command = require("actor.c.command")
local flags = require("actor.flags")
local gossip = require("actor.sim.gossip")
local graph = require("actor.graph")
local sim = require("actor.sim")
local grid = require("actor.sim.grid")
local files = require("actor.c.files")
local text = require("actor.inspect.text")
local util = require("actor.util")

local usage = "usage: actorhost sim [flags] [rule.lua[:NAME] ...]"

local default_barriers = "bsp,ssp:4,asp,pbsp:10,pssp:10:4"

---@type actor.flags.Flag[]
local known = {
  { name = "barrier", value = "RULE,...", many = true, help = "rules, separated by commas: bsp, ssp:4, pbsp:10@sticky, rule.lua, ... ("
    .. default_barriers .. " when no rule is given)" },
  { name = "nodes", value = "N", kind = "integer", help = "how many nodes (100)" },
  { name = "time", value = "SECONDS", kind = "number", help = "simulated time (200; of a replay: its own)" },
  { name = "work", value = "DIST", help = "seconds of a step: [C+]exp(mean), gamma(shape,scale), pareto(shape,min), lognormal(mu,sigma), uniform(low,high), const(c), trace(FILE) (" .. sim.default_work .. ")" },
  { name = "repeat", value = "N", kind = "integer", help = "runs of each, with seeds SEED, SEED+1, ... (1)" },
  { name = "seed", value = "N", kind = "integer", default = 1, help = "of the first run" },
  { name = "resample", value = "event|sticky|poll:SECONDS", help = "when a sampled rule draws again (event; peers: poll:0.5)" },
  { name = "straggler", value = "SHARE:FACTORx", help = "that share of the nodes is slower by the factor; ...@SECONDS: others after that time" },
  { name = "speed", value = "DIST", help = "a factor on each node's work, drawn once" },
  { name = "topology", value = "oracle|server:SHARDS|peers", help = "the state that a node learns of the others (oracle)" },
  { name = "delay", value = "DIST", help = "seconds of a message" },
  { name = "loss", value = "P", kind = "number", help = "share of lost messages, which are sent again" },
  { name = "retry", value = "SECONDS", kind = "number", help = "until a lost message is sent again (0.2)" },
  { name = "service", value = "DIST", help = "seconds that a shard needs for its part of an update" },
  { name = "bytes", value = "N", kind = "number", help = "of an update, and of a model" },
  { name = "bandwidth", value = "BYTES/S", kind = "number", help = "of a shard's link, each way (without limit)" },
  { name = "churn", value = "JOIN:LEAVE", help = "nodes that join and leave each second" },
  { name = "failures", value = "LIFE[:REPAIR]", help = "mean seconds until a node crashes, and until a new node joins" },
  { name = "detect", value = "SECONDS", kind = "number", help = "until a crash is detected (2.5)" },
  { name = "sweep", value = "NAME=VALUES", many = true, help = "START:STOP:STEP or A,B,C; NAME is a flag above, or {NAME} in a rule or in --train" },
  { name = "jobs", short = "j", value = "N|auto", help = "processes, or auto: one a core (1)" },
  { name = "csv", value = "FILE", help = "a row for each barrier and repeat; - is standard output" },
  { name = "json", value = "FILE", help = "the same as JSON lines" },
  { name = "resume", help = "continue the FILE.part of an interrupted sweep" },
  { name = "svg", value = "FILE", help = "a plot" },
  { name = "png", value = "FILE", help = "the same as a picture (needs librsvg)" },
  { name = "plot", value = table.concat(util.sorted_keys(sim.figures.kinds), "|"), help = "of --svg and --png (mean for sweeps, else cdf)" },
  { name = "log", value = "x|y|xy", help = "logarithmic axes of the plot" },
  { name = "confidence", value = "P", kind = "number", default = 0.95, help = "of the intervals" },
  { name = "train", value = "MODEL", help = "also train a model (loss, accuracy): linear, factorisation, mnist or model.lua, or 'linear rate=0.01 merge=drop:4'" },
  { name = "graphs", value = "GRAPH,...", many = true, help = "instead of barrier rules, decentralised training of --train (linear): ring, exponential, one_peer, pairs, base:K, regular:D, complete; takes --nodes (25), --rounds and --seed" },
  { name = "rounds", value = "N", kind = "integer", help = "of --graphs (200)" },
  { name = "replay", value = "FILE", help = "the work and network times of a run recorded with --record; compares with the measured steps" },
  { name = "list", help = "the rules and merge policies, one line each" },
  { name = "rule-timeout", value = "SECONDS", kind = "number", default = 10, help = "end a rule whose answers take longer" },
  { name = "no-native", help = "run the classic rules in Lua too" },
  { name = "no-progress", help = "no progress bar" },
  { name = "worker" }, -- a process of -j
  { name = "help", short = "h", help = "this page" },
}

-- The columns of the table on standard output: name, text.
local columns = {
  { "barrier", "the rule, and the varied values of --sweep" },
  { "mean step, sd", "steps that a node has begun: mean over the nodes, standard deviation between them" },
  { "min, max", "steps of the slowest and of the fastest node" },
  { "waiting", "share of the nodes' time that they wait for the rule" },
  { "checks/step", "decisions of the rule for each step" },
  { "msgs/step", "messages for each step" },
  { "staleness", "updates of other nodes between a step's pull and its own update, on average" },
  { "loss, accuracy", "with --train: of the model at the end" },
}

local function described(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    local name = #row[1] < 30 and ("  %-30s"):format(row[1]) or ("  %s\n%32s"):format(row[1], "")
    lines[i] = name .. flags.wrapped(row[2], 78, 32)
  end
  return table.concat(lines, "\n")
end

local function usage_error(message, ...)
  if select("#", ...) > 0 then message = message:format(...) end
  command.err(("actorhost sim: %s\n%s\nrun 'actorhost sim --help' for the flags"):format(message, usage))
  return 2
end

local function list()
  for title, rules in util.pairs { ["barrier rules"] = barrier.list(), ["merge rules"] = merge.list() } do
    print(title)
    for _, entry in ipairs(rules) do print(("  %-28s %s"):format(entry.usage, entry.summary)) end
  end
  return 0
end

-- --- the summary on standard output ---

local function interval_text(mean)
  if mean.n < 2 then return ("%.2f"):format(mean.mean) end
  return ("%.2f ± %.2f"):format(mean.mean, mean.high - mean.mean)
end

local function print_summary(rows, varied, confidence)
  local head = { "barrier" }
  for _, name in ipairs(varied) do head[#head + 1] = ">" .. name end
  for _, name in ipairs { "mean step", "sd", "min", "max", "waiting", "checks/step", "msgs/step", "staleness" } do
    head[#head + 1] = ">" .. name
  end
  local trained = {}
  for _, name in ipairs { "loss", "accuracy" } do
    local field = "training_" .. name
    if rows[1] and rows[1][field] then trained[#trained + 1], head[#head + 1] = field, ">" .. name end
  end
  local lines = {}
  for _, group in ipairs(sim.summary.groups(rows, confidence)) do
    local stats, cells = group.stats, { group.barrier }
    for _, name in ipairs(varied) do cells[#cells + 1] = tostring(group.varied[name]) end
    local low, high = math.huge, -math.huge
    for _, row in ipairs(group.rows) do low, high = math.min(low, row.min_step), math.max(high, row.max_step) end
    for _, cell in ipairs {
      interval_text(stats.mean_step), ("%.2f"):format(stats.sd_step.mean), ("%d"):format(low), ("%d"):format(high),
      ("%.1f %%"):format(100 * stats.waiting_share.mean), ("%.1f"):format(stats.checks_per_step.mean),
      ("%.1f"):format(stats.messages_per_step.mean), ("%.1f"):format(stats.staleness_mean.mean),
    } do
      cells[#cells + 1] = cell
    end
    for _, name in ipairs(trained) do
      cells[#cells + 1] = group.stats[name] and ("%.4g"):format(group.stats[name].mean) or ""
    end
    lines[#lines + 1] = cells
  end
  print(text.columns(head, lines))
end

-- Compares the steps of a recorded run with the simulation under the same rule.
local function print_comparison(rows, path)
  local run = sim.replay.load(path)
  local measured = sim.replay.measured(run)
  print(("recorded: %s, %d workers, %.1f s, %.1f steps completed by a worker"):format(measured.barrier or "barrier unknown",
    measured.workers, measured.seconds, measured.mean_completed))
  for _, group in ipairs(sim.summary.groups(rows)) do
    if group.barrier == measured.barrier then
      local predicted = group.stats.updates.mean / measured.workers
      print(("simulated under the same rule: %.1f steps, %+.1f %% of the measured ones"):format(predicted,
        100 * (predicted / measured.mean_completed - 1)))
    end
  end
end

-- --- running ---

local function path_of(path) return path == "-" and "/dev/stdout" or path end

local outputs = { "csv", "json", "svg", "png" }

-- An error if two outputs use one file, or an output uses an input file.
local function clash(values, barriers)
  local seen = {}
  for _, path in ipairs(grid.files(values, barriers)) do
    local real = files.regular(path)
    if real then seen[real] = "read" end
  end
  for _, kind in ipairs(outputs) do
    local path = values[kind]
    if path == "" then return ("--%s wants a file's name"):format(kind) end
    local real = path and (path == "-" and path or files.regular(path))
    if real and seen[real] then return ("--%s %s is %s as well"):format(kind, path, seen[real]) end
    if real then seen[real] = "--" .. kind end
  end
end

-- Opens the output tables before any run, so that an unwritable file is an error at once.
local function open_tables(values, configuration, sweep)
  for _, kind in ipairs { "svg", "png" } do
    if values[kind] then
      local fine, message = files.writable(path_of(values[kind]))
      if not fine then return nil, message end
    end
  end
  if values.plot or values.svg or values.png then
    local wrong = sim.figures.undrawable(values.plot or sim.figures.default_kind(sweep.names), sweep.names, sweep.values)
    if wrong then return nil, wrong end
  end
  local tables = {}
  for _, format in ipairs { "csv", "json" } do
    local path = path_of(values[format])
    if path then
      local file, message = sim.table.open(path, format, configuration, sweep.names, values.resume)
      if not file then return nil, message end
      tables[#tables + 1] = file
    end
  end
  return tables
end

-- Resets math.random and the rule's own modules before each run, so the result does not depend on the process.
local function execute(task, on_progress)
  math.randomseed(task.options.seed)
  sim.modules.forget()
  return sim.sweep.execute(task, on_progress)
end

local function run_sweep(tasks, sweep_names, values, jobs, tables)
  local bar = require("actor.progress").new { total = #tasks, label = "sim", quiet = values["no-progress"] }
  local skipped, rows = tables[1] and tables[1].done or 0, {}
  for _, file in ipairs(tables) do skipped = math.min(skipped, file.done) end
  -- Rows in the files are not simulated again, except for data that no line holds: curves, and all of JSON.
  local kind = (values.svg or values.png) and sim.figures.kinds[values.plot or sim.figures.default_kind(sweep_names)]
  if (kind and not kind.field) or not values.csv then skipped = 0 end
  local before = skipped > 0 and tables[1]:rows_before()
  for i = 1, skipped do rows[i] = before[i] end
  local function take(row)
    rows[#rows + 1] = row
    for _, file in ipairs(tables) do
      if row.index > file.done then file:add(row) end
    end
    bar:update(row.index, row.barrier)
  end
  local todo = {}
  for _, task in ipairs(tasks) do
    if task.index > skipped then todo[#todo + 1] = task end
  end
  if jobs == 1 then
    for _, task in ipairs(todo) do
      take(execute(task, function(share) bar:update(task.index - 1 + share, task.barrier) end))
    end
  else
    sim.pool.run(todo, jobs, { "sim", "--worker", "--rule-timeout", tostring(values["rule-timeout"]) }, take)
  end
  for _, file in ipairs(tables) do file:finish() end
  bar:finish()
  return rows
end

local function save_plots(values, rows, varied, configuration)
  if not values.svg and not values.png then return true end
  local plot = require("actor.plot")
  local svg, wrong = sim.figures.draw(rows, {
    kind = values.plot, varied = varied, subtitle = table.concat(configuration, ", "), confidence = values.confidence,
    log_x = values.log and values.log:find("x") ~= nil, log_y = values.log and values.log:find("y") ~= nil,
  })
  if not svg then return nil, wrong end
  for _, kind in ipairs { "svg", "png" } do
    local path = path_of(values[kind])
    if path then
      local saved, message
      if kind == "svg" then saved, message = plot.save(path, svg) else saved, message = plot.png(path, svg) end
      if not saved then return nil, message end
    end
  end
  return true
end

-- The flags that --graphs takes.
local of_graphs = { graphs = true, nodes = true, rounds = true, seed = true, train = true }

local function run_graphs(values, given)
  for _, name in ipairs(given) do
    if not of_graphs[name] then return usage_error("--graphs does not take --%s (it takes --nodes, --rounds, --seed and --train)", name) end
  end
  local make, plan = sim.train.from(values.train or "linear")
  if not make then return usage_error("--train %s: %s", values.train, plan) end
  if plan.merge or plan.attack or plan.points then
    return usage_error("--train with --graphs takes no merge=, attack= or points=")
  end
  local lines = {}
  for _, text_of in ipairs(values.graphs) do
    for spec in text_of:gmatch("[^,]+") do
      local fine, made = pcall(graph.of, spec, "--graphs")
      if not fine then return usage_error("%s", (tostring(made):gsub("^[^:]+:%d+: ", ""))) end
      local rounds = values.rounds or 200
      local result = gossip.run {
        graph = made, nodes = values.nodes or 25, rounds = rounds, seed = values.seed, rate = plan.rate, model = make(),
      }
      local last = #result.loss
      lines[#lines + 1] = {
        made.name, tostring(result.partners), tostring(made.period and made.period(values.nodes or 25) or "-"),
        ("%.3g"):format(result.distance[math.ceil(rounds / 10)]), ("%.3g"):format(result.distance[rounds]),
        ("%.4g"):format(result.loss[last]), result.accuracy and ("%.4g"):format(result.accuracy[last]) or "",
      }
    end
  end
  print(text.columns({ "graph", ">partners", ">period", ">distance early", ">distance", ">loss", ">accuracy" }, lines))
  print("distance: of the nodes' models from their mean, after a tenth of the rounds and at the end; loss of the mean model")
  return 0
end

local function main()
  local more = ("\nColumns of the output (with --repeat means, and ± their interval of --confidence):\n%s\n\n"
    .. "Columns of --csv and --json, a row for each rule and repeat:\n%s"):format(described(columns),
    described(require("actor.sim.table").meanings))
  local values, rest, _, given = flags.command("sim", known, usage .. "\n", more)
  if not values then return rest end
  if not (values["rule-timeout"] > 0) then return usage_error("--rule-timeout wants a number of seconds above 0") end
  require("actor.c.sim").rule_limit(values["rule-timeout"])
  specs.runner = sim.modules.runner(require("actor.c.sim").load_rule)
  if values.worker then
    sim.pool.serve(execute)
    return 0
  end
  if values.list then return list() end
  if values.graphs then return run_graphs(values, given) end
  if values.rounds then return usage_error("--rounds belongs to --graphs") end
  local jobs, no_jobs = sim.pool.jobs(values.jobs)
  if not jobs then return usage_error("%s", no_jobs) end
  local barriers = rest
  for _, text in ipairs(values.barrier or {}) do
    for word in text:gmatch("[^,]+") do barriers[#barriers + 1] = word end
  end
  if values.replay then
    local fine, run = pcall(sim.replay.load, values.replay)
    if not fine then return usage_error("%s", (tostring(run):gsub("^scripts/sim.lua:%d+: ", ""))) end
    if #barriers == 0 then barriers[1] = sim.replay.barrier(run) end
  end
  if #barriers == 0 then
    for word in default_barriers:gmatch("[^,]+") do barriers[#barriers + 1] = word end
  end
  if values.log and not (values.svg or values.png) then return usage_error("--log is for a plot: give --svg or --png with it") end
  if values.plot and not (values.svg or values.png) then return usage_error("--plot chooses a plot: give --svg or --png with it") end
  if values.resume and not (values.csv or values.json) then
    return usage_error("--resume continues a table: give its --csv or --json")
  end
  local sweep, wrong = grid.sweep(values, barriers)
  if not sweep then return usage_error("%s", wrong) end
  wrong = clash(values, barriers)
  if wrong then return usage_error("%s", wrong) end
  local configuration = grid.configuration(values, barriers)
  local tables
  tables, wrong = open_tables(values, configuration, sweep)
  if not tables then return usage_error("%s", wrong) end
  local rows = run_sweep(sweep.tasks, sweep.names, values, jobs, tables)
  local saved
  saved, wrong = save_plots(values, rows, sweep.names, configuration)
  if not saved then return usage_error("%s", wrong) end
  for _, remark in ipairs(sim.summary.remarks(sim.summary.groups(rows))) do command.err("actorhost sim: " .. remark) end
  if values.csv ~= "-" and values.json ~= "-" then
    print_summary(rows, sweep.names, values.confidence)
    if values.replay then print_comparison(rows, values.replay) end
  end
  return 0
end

return main()
