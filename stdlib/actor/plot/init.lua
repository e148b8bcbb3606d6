--- Draws charts as SVG text: lines, cumulative distributions, bars. A figure is one document without scripts or
--- external resources. It has a light and a dark colour scheme; the viewer's setting selects one. Equal data gives
--- equal bytes. Series differ in colour, marker and dash. A value without a place on its axis (NaN, infinite, or at
--- most 0 on a logarithmic axis) is a gap; a note below the plot counts such values.
---
---     local svg = plot.line{
---       title = "Steps against sample size", subtitle = "P = 200, T = 200 s, event",
---       x = {label = "sample size", log = 2}, y = {label = "mean step"},
---       series = {{name = "pBSP", x = {1, 2, 4}, y = {99, 94, 85}, low = {98, 93, 84}, high = {100, 95, 86}}},
---       references = {{name = "published", x = {1, 2, 4}, y = {99, 94, 85}}},
---     }
---     assert(plot.save("steps.svg", svg))
---     assert(plot.png("steps.png", svg, {scheme = "dark"}))
local bars = require("actor.plot.bars")
local cdf = require("actor.plot.cdf")
local check = require("actor.check")
local file = require("actor.plot.file")
local line = require("actor.plot.line")
local png = require("actor.plot.png")

---@class actor.plot
local M = {}

---@class actor.plot.AxisOptions
---@field label? string
---@field unit? string shown in parentheses behind the label
---@field log? boolean|2|10 a logarithmic axis of this base; true is 10. With 2 all ticks are powers of two
---@field min? number the lower end; default: the tick at or below the least value
---@field max? number the upper end; default: the tick at or above the greatest value
---@field zero? boolean whether the axis includes 0; default: true if 0 makes the range less than twice as long

---@class actor.plot.Options options of all charts
---@field title? string
---@field subtitle? string for example the parameters
---@field x? actor.plot.AxisOptions
---@field y? actor.plot.AxisOptions
---@field notes? string[] lines below the plot
---@field width? number pixels, default 720
---@field height? number default 440; grows if the texts need it

---@class actor.plot.Series
---@field name? string
---@field x? number[] default 1, 2, ...
---@field y number[]
---@field low? number[] with `high`: a confidence band, or error bars with style "points"
---@field high? number[]
---@field style? "line"|"step"|"points" default "line"; "step": a value holds until the next x
---@field look? integer the number of a colour, marker and dash, to match other figures; default: the series' position

---@class actor.plot.LineOptions : actor.plot.Options
---@field series? actor.plot.Series[]
---@field references? {name?: string, x?: number[], y: number[]}[] drawn as hollow markers: published values to compare

---Draws lines, steps or points over x, with confidence bands or error bars.
---```lua
---local svg = actor.plot.line {
---  title = "Loss", x = { label = "step" }, y = { label = "loss" },
---  series = { { name = "bsp", x = { 1, 2, 3 }, y = { 0.9, 0.5, 0.4 } } },
---}
---print(svg:find("Loss", 1, true) ~= nil)  --> true
---```
---@param options actor.plot.LineOptions
---@return string svg
function M.line(options) return line.line(options) end

---@class actor.plot.CdfOptions : actor.plot.Options
---@field series? {name?: string, samples?: number[], values?: number[], counts?: number[], look?: integer}[] samples, or the values of a
---  histogram with the count of each
---@field references? {name?: string, x?: number[], y: number[]}[] drawn as hollow markers; y is 0 .. 1

---Draws cumulative distributions: the share of samples at or below x. Markers are at the quartiles.
---```lua
---local svg = actor.plot.cdf { title = "Steps", series = { { name = "ssp:4", samples = { 10, 12, 12, 15 } } } }
---print(svg:sub(1, 4))  --> <svg
---```
---@param options actor.plot.CdfOptions
---@return string svg
function M.cdf(options) return cdf.cdf(options) end

---@class actor.plot.BarOptions : actor.plot.Options
---@field categories string[]
---@field series? {name?: string, y: number[], low?: number[], high?: number[], looks?: integer[]}[] the arrays have a
---  number for each category; `looks`: the number of each bar's colour, default the series' number
---@field references? {name?: string, y: number[], series?: string}[] hollow markers, over the bars of that series
---@field values? boolean|string shows each bar's value above it if it fits; a string is the format ("%.1f")

---Draws bars over categories, several series beside each other, with error bars.
---```lua
---local svg = actor.plot.bars { categories = { "bsp", "asp" }, series = { { name = "seconds", y = { 27.8, 11 } } } }
---print(svg:sub(1, 4))  --> <svg
---```
---@param options actor.plot.BarOptions
---@return string svg
function M.bars(options) return bars.bars(options) end

---Writes a figure to a file. A regular file is replaced atomically and keeps its content on failure. Other files
---(/dev/stdout, a pipe) are written in place.
---```lua nodes=1
---local svg = actor.plot.line { series = { { x = { 1, 2 }, y = { 1, 4 } } } }
---print(actor.plot.save("figure.svg", svg))  --> true
---```
---@param path string
---@param svg string
---@return true? saved
---@return string? message
---@return string? code "unwritable"
function M.save(path, svg)
  check.arg(path, "string", "path", "plot.save")
  check.arg(svg, "string", "svg", "plot.save")
  return file.write(path, svg)
end

---Writes a figure as a PNG file. Needs librsvg at run time.
---```lua nodes=1
---local svg = actor.plot.line { series = { { x = { 1, 2 }, y = { 1, 4 } } } }
---local saved, message = actor.plot.png("figure.png", svg, { width = 800 })
---if not saved then print(message) end -- without librsvg
---```
---@param path string
---@param svg string
---@param options? {width?: integer, scheme?: "light"|"dark", loader?: fun(): any} width in pixels, default twice the
---  figure's; scheme "light"; loader: loads librsvg, for tests
---@return true? saved
---@return string? message
---@return string? code "unavailable" (no librsvg), "invalid" (no SVG, or too large), "unwritable"
function M.png(path, svg, options)
  local fn = "plot.png"
  check.arg(path, "string", "path", fn)
  check.arg(svg, "string", "svg", fn)
  options = check.optional_options(options, { width = "number?", scheme = "string?", loader = "function?" }, fn)
  if options.width then check.integer(options.width, "width", fn, 1, 32767) end
  if options.scheme then check.one_of(options.scheme, { "light", "dark" }, "scheme", fn) end
  return png.write(path, svg, options, options.loader)
end

return M
