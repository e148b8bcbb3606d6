--- The page of the barrier experiments (`actorhost reproduce psp`): one HTML file beside its plots, legible in light
--- and dark, no script. `head`, `escaped` and `comparison_table` serve the page of all papers too.
local M = {}

local head = [[<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root { color-scheme: light dark; --line: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }
p.parameters { opacity: .75; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); gap: 1rem; }
.plots img { width: 100%; height: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td b { white-space: nowrap; }
nav li { display: inline; margin-right: 1rem; }
nav ul { padding: 0; }
@media (max-width: 30rem) { .plots { grid-template-columns: 1fr; } }
</style>
</head>
<body>
]]

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

---@param text any
---@return string html
function M.escaped(text) return (tostring(text):gsub('[&<>"]', escapes)) end
local escaped = M.escaped

---Returns the begin of a page, up to its body.
---@param title string
---@return string html
function M.head(title) return (head:gsub("{title}", function() return escaped(title) end)) end

---Whether the simulated figure agrees with the published figure: to within 3 %, or one step.
---@param row {published: number, mean: number}
---@return boolean
function M.agrees(row)
  return math.abs(row.mean - row.published) <= math.max(0.03 * math.abs(row.published), 1)
end

-- Whether single runs are on both sides of the published figure, or equal it.
local function among_runs(row) return row.least <= row.published and row.published <= row.most end

local function verdict(row)
  if M.agrees(row) then return "yes" end
  return among_runs(row) and "no, but single runs are" or "no"
end

---Returns a table of published figures beside the figures here.
---@param rows {what: string, published: number, mean: number, half: number, n: integer, least: number, most: number}[]
---@return string html
function M.comparison_table(rows)
  local out = {
    '<table><tr><th>figure</th><th class="number">published</th><th class="number">here</th>'
      .. '<th class="number">difference</th><th class="number">single runs</th><th>within 3 % or one</th></tr>',
  }
  for _, row in ipairs(rows) do
    local here = row.n > 1 and ("%.2f ± %.2f"):format(row.mean, row.half) or ("%.2f"):format(row.mean)
    out[#out + 1] = ('<tr><td>%s</td><td class="number">%.4g</td><td class="number">%s</td><td class="number">%+.2f</td><td class="number">%s</td><td>%s</td></tr>'):format(
      escaped(row.what), row.published, here, row.mean - row.published,
      row.n > 1 and ("%.2f to %.2f"):format(row.least, row.most) or "", verdict(row))
  end
  out[#out + 1] = "</table>"
  return table.concat(out, "\n")
end

local function section_html(section)
  local out = {
    ('<section id="%s">\n<h2>%s</h2>\n<p>%s</p>\n<p class="parameters">%s%s</p>'):format(section.id, escaped(section.title),
      escaped(section.about), escaped(section.parameters),
      section.csv and (' · <a href="%s">table</a>'):format(section.csv) or ""),
  }
  out[#out + 1] = '<div class="plots">'
  for _, file in ipairs(section.files) do
    out[#out + 1] = ('<a href="%s"><img src="%s" alt="%s"></a>'):format(file, file, escaped(section.title))
  end
  out[#out + 1] = "</div>"
  if #section.comparisons > 0 then out[#out + 1] = M.comparison_table(section.comparisons) end
  out[#out + 1] = "</section>"
  return table.concat(out, "\n")
end

---@param sections table[]
---@return string html
function M.html(sections)
  local out, agree, among, all, several = { M.head("Barrier experiments") }, 0, 0, 0, false
  for _, section in ipairs(sections) do
    for _, row in ipairs(section.comparisons) do
      all, several = all + 1, several or row.n > 1
      agree = agree + (M.agrees(row) and 1 or 0)
      among = among + (not M.agrees(row) and among_runs(row) and 1 or 0)
    end
  end
  local ours = several and "each figure here is a mean over seeds with its 95 % interval"
    or "each figure here is of one run, with no interval"
  out[#out + 1] = ("<h1>Barrier experiments</h1>\n<p>actorhost %s. %d of %d published figures are met within 3 %% or one "
    .. "step%s; %s; published ones are of single runs or a few.</p>"):format(
    require("actor").version, agree, all, among > 0 and (", and %d more %s among our single runs"):format(among, among == 1 and "is" or "are") or "", ours)
  out[#out + 1] = "<nav><ul>"
  for _, section in ipairs(sections) do
    out[#out + 1] = ('<li><a href="#%s">%s</a></li>'):format(section.id, escaped(section.title))
  end
  out[#out + 1] = "</ul></nav>"
  for _, section in ipairs(sections) do out[#out + 1] = section_html(section) end
  out[#out + 1] = "</body>\n</html>\n"
  return table.concat(out, "\n")
end

return M
