-- actorhost reproduce [flags] NAME...|all: the experiments of papers again, with a verdict on each claim. The runs are
-- of actor.reproduce, the papers of actor.papers; this file is the command line.
local flags = require("actor.flags")
local pool = require("actor.sim.pool")
local reproduce = require("actor.reproduce")
local text = require("actor.inspect.text")

local usage = [[
usage: actorhost reproduce [flags] NAME...|all

Runs the experiments of papers in the simulator, judges each claim, and writes a page with the paper's figures beside
the figures here: DIR/index.html. --list names the papers.
]]

---@type actor.flags.Flag[]
local known = {
  { name = "list", help = "the papers, one line each" },
  { name = "dir", value = "DIR", default = "reproduced", help = "the folder of the page" },
  { name = "quick", help = "shorter runs, and 12 seeds" },
  { name = "repeat", value = "N", kind = "integer", help = "seeds of each run (30)" },
  { name = "seed", value = "N", kind = "integer", default = 1, help = "the first seed" },
  { name = "jobs", short = "j", value = "N|auto", default = "auto", help = "processes, or auto: one a core" },
  { name = "json", help = "one JSON object instead of the table, and no page" },
  { name = "no-progress", help = "no progress bar" },
  { name = "worker" }, -- a process of -j
  { name = "help", short = "h", help = "this page" },
}

local columns = [[
Columns: the claim in short; the two compared means; their ratio, a geometric mean over runs with equal seeds; its
interval, corrected for the number of claims; the verdict. "reproduced": the whole interval is on the side of the claim.
"not reproduced": it is on the other side. "undecided": it is on both.
]]

local function list()
  local lines = {}
  for i, name in ipairs(reproduce.names) do
    local paper = reproduce.paper(name)
    lines[i] = { name, paper.venue, tostring(#paper.claims), paper.title }
  end
  print(text.columns({ "name", "venue", ">claims", "title" }, lines))
  return 0
end

local function number(value) return ("%.3g"):format(value) end

-- --- the output ---

local function cells_of(paper, claim)
  if claim.untested then return { paper, claim.text, "", "", "", "", claim.verdict } end
  local function mean_of(mean, reached)
    return (reached and reached < claim.seeds and "> " or "") .. number(mean)
  end
  return {
    paper, claim.text, mean_of(claim.of_mean, claim.reached), mean_of(claim.against_mean, claim.against_reached),
    number(claim.ratio), number(claim.low) .. " to " .. number(claim.high), claim.verdict,
  }
end

local function show(report, dir, counts)
  local lines = {}
  for _, paper in ipairs(report.papers) do
    for _, claim in ipairs(paper.claims) do lines[#lines + 1] = cells_of(paper.name, claim) end
  end
  print(text.columns({ "paper", "claim", ">here", ">against", ">ratio", ">interval", "verdict" }, lines))
  print(("%s; %d seeds from %d"):format(counts, report.seeds, report.seed))
  print(dir .. "/index.html")
end

local function json_of(report)
  local json, papers = require("actor.console.json"), {}
  for i, paper in ipairs(report.papers) do
    local runs = {}
    for k, run in ipairs(paper.runs) do runs[k] = { name = run.name, options = run.words, rate = run.rate, at_edge = run.at_edge } end
    papers[i] = {
      name = paper.name, title = paper.paper.title, runs = runs, claims = setmetatable(paper.claims, json.array),
      published = setmetatable(paper.published, json.array),
    }
  end
  return json.encode {
    seeds = report.seeds, seed = report.seed, quick = report.quick, confidence = report.confidence, papers = papers,
  }
end

-- --- running ---

local function names_of(words)
  local names, seen = {}, {}
  for _, word in ipairs(words) do
    for _, name in ipairs(word == "all" and reproduce.names or { word }) do
      reproduce.paper(name)
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  return names
end

local function main()
  local values, rest, fail = flags.command("reproduce", known, usage, columns)
  if not values then return rest end
  if values.worker then
    pool.serve(reproduce.execute)
    return 0
  end
  if values.list then return list() end
  if #rest == 0 then return fail(2, "give the name of a paper, or all\n" .. usage) end
  local fine, names = pcall(names_of, rest)
  if not fine then return fail(2, (tostring(names):gsub("^[^:]+:%d+: ", ""))) end
  local seeds = values["repeat"] or values.quick and 12 or 30
  if seeds < 2 then return fail(2, "--repeat wants a number of at least 2, since intervals need two runs") end
  if values.seed < 0 then return fail(2, "--seed wants a whole number of at least 0") end
  local jobs, wrong = pool.jobs(values.jobs)
  if not jobs then return fail(2, wrong) end
  local page = require("actor.reproduce.page")
  if not values.json then
    local made, message = page.begin(values.dir)
    if not made then return fail(3, message) end
  end
  local report = reproduce.run(names, {
    seeds = seeds, seed = values.seed, quick = values.quick,
    execute = pool.executor {
      jobs = jobs, args = { "reproduce", "--worker" }, execute = reproduce.execute, field = "paper", label = "reproduce",
      quiet = values["no-progress"] or values.json,
    },
  })
  if values.json then
    print(json_of(report))
    return 0
  end
  local saved, message = page.write(values.dir, report, { jobs = jobs, quiet = values["no-progress"] })
  if not saved then return fail(3, message) end
  show(report, values.dir, page.counts(report))
  return 0
end

return main()
