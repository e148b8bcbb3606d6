--- The page of `actorhost reproduce`: one HTML file beside its plots, legible in light and dark, no script.
local files = require("actor.c.files")
local page = require("actor.sim.page")
local plot = require("actor.plot")
local reproduce = require("actor.reproduce")

local M = {}

local escaped = page.escaped
local names = { loss = "loss", accuracy = "accuracy", distance = "distance from the mean model" }

local function number(value) return ("%.3g"):format(value) end

---Makes the folder before the runs, so that a wrong name is an error at once. Returns nil and a message after an error.
---@param dir string
---@return true?
---@return string? message
function M.begin(dir)
  local made, message = files.make_directory(dir)
  if not made then return nil, message end
  return files.writable(dir .. "/index.html")
end

-- --- the figures ---

local function series_of(paper, y, only)
  local out = {}
  for _, run in ipairs(paper.runs) do
    if #run.curves[y] > 0 and (not only or run.name:find(only, 1, true)) then out[#out + 1] = { name = run.name, x = run.curves.x, y = run.curves[y] } end
  end
  return out
end

-- Without places that a logarithmic axis cannot show.
local function positive(series)
  for _, one in ipairs(series) do
    local x, y = {}, {}
    for k, value in ipairs(one.y) do
      if value > 1e-14 and value < 1e300 then x[#x + 1], y[#y + 1] = one.x[k], value end
    end
    one.x, one.y = x, y
  end
  return series
end

-- Draws the curves of a paper's runs, and returns the names of the files.
local function draw(dir, paper, report)
  local out = {}
  for _, wanted in ipairs(paper.paper.plots or { { y = "loss", log_y = true } }) do
    local series = series_of(paper, wanted.y, wanted.only)
    if #series > 0 then
      if wanted.log_y then series = positive(series) end
      local file = ("%s-%s.svg"):format(paper.name, wanted.y)
      local saved, message = plot.save(dir .. "/" .. file, plot.line {
        title = ("%s: %s"):format(paper.name, names[wanted.y]), subtitle = ("mean over %d seeds"):format(report.seeds),
        x = { label = wanted.axis or paper.paper.axis or "simulated seconds" },
        y = { label = names[wanted.y], log = wanted.log_y }, series = series,
      })
      if not saved then return nil, message end
      out[#out + 1] = file
    end
  end
  return out
end

-- --- the parts of the page ---

local function row(cells)
  local out = {}
  for i, cell in ipairs(cells) do
    local right = cell:sub(1, 1) == ">"
    out[i] = right and ('<td class="number">%s</td>'):format(escaped(cell:sub(2))) or ("<td>%s</td>"):format(cell)
  end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

local function table_of(head, rows)
  local out = { "<table>" }
  for i, cell in ipairs(head) do
    head[i] = cell:sub(1, 1) == ">" and ('<th class="number">%s</th>'):format(cell:sub(2)) or ("<th>%s</th>"):format(cell)
  end
  out[2] = "<tr>" .. table.concat(head) .. "</tr>"
  for _, cells in ipairs(rows) do out[#out + 1] = row(cells) end
  out[#out + 1] = "</table>"
  return table.concat(out, "\n")
end

local function compared(claim)
  local measure = reproduce.measures[claim.measure] or claim.measure
  local function named(name, mean, reached)
    local missed = reached and reached < claim.seeds
      and (" (%d of %d runs reach it)"):format(reached, claim.seeds) or ""
    return ("%s: %s%s"):format(name, number(mean), missed)
  end
  if type(claim.against) == "number" then
    return escaped(("%s; %s; bound: %s"):format(measure, named(claim.of, claim.of_mean, claim.reached), number(claim.against)))
  end
  return escaped(("%s; %s; %s"):format(measure, named(claim.of, claim.of_mean, claim.reached),
    named(claim.against, claim.against_mean, claim.against_reached)))
end

local function bold(verdict) return verdict == "undecided" and verdict or ("<b>%s</b>"):format(verdict) end

local wanted_words = { less = "below 1", greater = "above 1" }

local function claims_table(paper)
  local rows = {}
  for i, claim in ipairs(paper.claims) do
    local text = ("%s (%s%s)"):format(escaped(claim.text), escaped(claim.place),
      claim.published and "; published: " .. escaped(claim.published) or "")
    if claim.untested then
      rows[i] = { text, escaped(claim.untested), "", "", "", bold(claim.verdict) }
    else
      rows[i] = {
        text, compared(claim), ">" .. number(claim.ratio), ">" .. number(claim.low) .. " to " .. number(claim.high),
        wanted_words[claim.wants] or ("at most %s"):format(number(1 + claim.within)), bold(claim.verdict),
      }
    end
  end
  return table_of({ "claim", "compared", ">ratio", ">interval", "claimed", "verdict" }, rows)
end

local function runs_table(paper)
  local rows = {}
  for i, run in ipairs(paper.runs) do
    local rate = run.rate and number(run.rate) .. (run.at_edge and " (the last of the tried rates)" or "") or ""
    rows[i] = { escaped(run.name), escaped(run.words), ">" .. rate }
  end
  return table_of({ "run", "options", ">chosen rate" }, rows)
end

local function published_table(paper)
  if #paper.published == 0 then return "" end
  return page.comparison_table(paper.published)
end

local function command_of(paper, report)
  return ("actorhost reproduce%s --repeat %d --seed %d %s"):format(report.quick and " --quick" or "", report.seeds, report.seed, paper.name)
end

-- The link to a paper's further pages. Returns nil and a message after an error.
local function more_of(dir, paper, report, options)
  if not paper.paper.more then return "" end
  local text, message = paper.paper.more(("%s/%s"):format(dir, paper.name), {
    jobs = options.jobs, quiet = options.quiet, seed = report.seed, repeats = math.min(report.seeds, report.quick and 3 or 10),
  })
  if not text then return nil, message end
  return ('<p><a href="%s/index.html">%s</a></p>'):format(paper.name, escaped(text))
end

local function section(dir, paper, report, options)
  local of, drawn, message = paper.paper, nil, nil
  drawn, message = draw(dir, paper, report)
  if not drawn then return nil, message end
  local more
  more, message = more_of(dir, paper, report, options)
  if not more then return nil, message end
  local out = {
    ('<section id="%s">\n<h2>%s</h2>\n<p class="parameters">%s. %s.</p>'):format(paper.name, escaped(of.title), escaped(of.authors), escaped(of.venue)),
    ("<p><b>Read:</b> %s</p>\n<p><b>The paper's setting:</b> %s</p>\n<p><b>Here:</b> %s</p>"):format(escaped(of.read), escaped(of.setting), escaped(of.here)),
    ("<p><code>%s</code></p>"):format(escaped(command_of(paper, report))), claims_table(paper), published_table(paper), more,
    '<div class="plots">',
  }
  for _, file in ipairs(drawn) do
    out[#out + 1] = ('<a href="%s"><img src="%s" alt="%s"></a>'):format(file, file, escaped(of.title))
  end
  out[#out + 1] = "</div>\n<details><summary>Runs</summary>\n" .. runs_table(paper) .. "\n</details>\n</section>"
  return table.concat(out, "\n")
end

local function summary_table(report)
  local rows = {}
  for _, paper in ipairs(report.papers) do
    for _, claim in ipairs(paper.claims) do
      rows[#rows + 1] = {
        ('<a href="#%s">%s</a>'):format(paper.name, paper.name), escaped(claim.text),
        claim.untested and "" or ">" .. number(claim.ratio),
        claim.untested and "" or ">" .. number(claim.low) .. " to " .. number(claim.high), bold(claim.verdict),
      }
    end
  end
  return table_of({ "paper", "claim", ">ratio", ">interval", "verdict" }, rows)
end

local intro = [[
<h1>Published experiments again</h1>
<p>actorhost %s. %d papers, %d tested claims. Each run is repeated with %d seeds from %d%s. A ratio is the geometric mean over
runs with equal seeds. Its interval has a confidence of %.4g %%, so that all intervals together are right with a probability
of 95 %% (Bonferroni). A claim is reproduced if the whole interval is on the side of the claim, and not reproduced if it is
on the other side. A run with several learning rates uses the best of them, which runs with other seeds chose.</p>
<p>The models here are small, and the workers are simulated. So a verdict is about the direction that a paper claims, under
the conditions that each section names.</p>
]]

-- A sentence on the digits, if a run used them.
local function digits_of(report)
  for _, paper in ipairs(report.papers) do
    for _, run in ipairs(paper.runs) do
      if #run.curves.accuracy > 0 then
        local source = require("actor.data").mnist(nil, { train = 10, test = 10 }).source
        return ("<p>Digits: %s.</p>"):format(escaped(source))
      end
    end
  end
  return ""
end

---Returns the numbers of claims by verdict, as text.
---@param report table of reproduce.run
---@return string
function M.counts(report)
  local counts, all = { reproduced = 0, ["not reproduced"] = 0, undecided = 0, ["not tested"] = 0 }, 0
  for _, paper in ipairs(report.papers) do
    for _, claim in ipairs(paper.claims) do
      counts[claim.verdict], all = counts[claim.verdict] + 1, all + 1
    end
  end
  return ("%d paper%s, %d claims: %d reproduced, %d not reproduced, %d undecided, %d not tested"):format(#report.papers,
    #report.papers == 1 and "" or "s", all, counts.reproduced, counts["not reproduced"], counts.undecided, counts["not tested"])
end

---Writes the page and its figures. Returns nil and a message after an error.
---@param dir string
---@param report table of reproduce.run
---@param options {jobs: integer, quiet?: boolean} for a paper's further pages
---@return true?
---@return string? message
function M.write(dir, report, options)
  local out = {
    page.head("Published experiments again"),
    intro:format(require("actor").version, #report.papers, report.claims, report.seeds, report.seed,
      report.quick and ", and its length is half" or "", 100 * report.confidence),
    digits_of(report), ("<p>%s.</p>"):format(M.counts(report)), summary_table(report),
  }
  for _, paper in ipairs(report.papers) do
    local html, message = section(dir, paper, report, options)
    if not html then return nil, message end
    out[#out + 1] = html
  end
  out[#out + 1] = "</body>\n</html>\n"
  return plot.save(dir .. "/index.html", table.concat(out, "\n"))
end

return M
