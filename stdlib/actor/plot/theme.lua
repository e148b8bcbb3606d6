--- The colours and styles of figures. In both schemes every colour has a contrast of at least 3 (text: 4.5) against the
--- background, and readers without red, green or blue cones can distinguish the series' colours.
--- tests/stdlib/plot_spec.lua checks both. The light scheme is the default. The dark scheme is a media query that
--- repeats only colours: librsvg and many other viewers support neither media queries nor CSS variables, and show the
--- light scheme.
local M = {}

---@class actor.plot.Scheme
---@field background string
---@field text string
---@field muted string subtitle, notes, tick labels
---@field axis string
---@field grid string
---@field series string[]

---@type table<string, actor.plot.Scheme>
M.schemes = {
  light = {
    background = "#FFFFFF", text = "#1A1A1A", muted = "#565B63", axis = "#80858D", grid = "#E7E9EC",
    series = { "#0072B2", "#BC3A00", "#059676", "#7A2A86", "#B5842A", "#2B93F0", "#2E2E2E" },
  },
  dark = {
    background = "#16181D", text = "#ECEEF1", muted = "#A9AFB8", axis = "#7F868F", grid = "#2C3037",
    series = { "#7DBBF2", "#F0592B", "#14B789", "#C653A3", "#F5C53A", "#3B76E4", "#F0F0F0" },
  },
}

M.colours = #M.schemes.light.series

-- The dash (plain, .d2, .d3, .d4) changes after each round of M.markers markers, so 24 series differ without colours.
M.markers = 6
local dashes = 4

local fixed = [[
.actor-plot text{font-family:Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;font-size:12px}
.actor-plot .title{font-size:16px;font-weight:bold}
.actor-plot .sub{font-size:12.5px}
.actor-plot .note{font-size:11px}
.actor-plot .grid,.actor-plot .axis{fill:none;stroke-width:1;shape-rendering:crispEdges}
.actor-plot .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:butt}
.actor-plot .band{fill:currentColor;fill-opacity:.16;stroke:none}
.actor-plot .bar{fill:currentColor;stroke:none}
.actor-plot .err{fill:none;stroke-width:1.3}
.actor-plot .mark{fill:currentColor;stroke-width:1}
.actor-plot .cross{fill:none;stroke:currentColor;stroke-width:2}
.actor-plot .ref{fill:none;stroke-width:1.8}
.actor-plot .lead{fill:none;stroke-width:1}
.actor-plot .d2{stroke-dasharray:7 4}
.actor-plot .d3{stroke-dasharray:2 3}
.actor-plot .d4{stroke-dasharray:9 3 2 3}
]]

local function colours_of(scheme)
  local out = {
    (".actor-plot .bg{fill:%s}"):format(scheme.background),
    (".actor-plot text{fill:%s}"):format(scheme.text),
    (".actor-plot .sub,.actor-plot .note,.actor-plot .tick{fill:%s}"):format(scheme.muted),
    (".actor-plot .grid{stroke:%s}"):format(scheme.grid),
    (".actor-plot .axis,.actor-plot .lead{stroke:%s}"):format(scheme.axis),
    (".actor-plot .err,.actor-plot .ref{stroke:%s}"):format(scheme.text),
    (".actor-plot .mark,.actor-plot .inset{stroke:%s}"):format(scheme.background),
    (".actor-plot .inset{color:%s}"):format(scheme.background),
  }
  for i, colour in ipairs(scheme.series) do out[#out + 1] = (".actor-plot .c%d{color:%s}"):format(i, colour) end
  return table.concat(out, "\n") .. "\n"
end

local dark_open, dark_close = "@media (prefers-color-scheme:dark){\n", "}/*dark*/\n"

---Returns the text of the figure's style element.
---@return string
function M.css()
  return fixed .. colours_of(M.schemes.light) .. dark_open .. colours_of(M.schemes.dark) .. dark_close
end

---Returns the figure with only the dark scheme, for viewers without media queries.
---@param svg string
---@return string
function M.darkened(svg)
  local first, open_end = svg:find(dark_open, 1, true)
  if not first then return svg end
  local close, last = svg:find(dark_close, open_end, true)
  if not close then return svg end
  return svg:sub(1, first - 1) .. svg:sub(open_end + 1, close - 1) .. svg:sub(last + 1)
end

---Returns the CSS classes of the i-th series: its colour, and its dash ("" for the first round of markers).
---@param i integer
---@return string colour
---@return string dash
function M.classes(i)
  local round = math.floor((i - 1) / M.markers) % dashes + 1
  return ("c%d"):format((i - 1) % M.colours + 1), round > 1 and (" d%d"):format(round) or ""
end

return M
