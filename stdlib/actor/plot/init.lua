--- Charts as SVG text: one self-contained document, no script, nothing fetched, light or dark as the reader's system is,
--- the same bytes for the same data. Series differ in colour, marker and dash. Values that are NaN or infinite, and those
--- that a logarithmic axis does not have, are gaps, and a note below the plot counts them.
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
---@field log? boolean|2|10 logarithmic; true is 10. With 2 the ticks are powers of two
---@field min? number the end stays there; without it the axis ends at the tick that covers the data
---@field max? number
---@field zero? boolean the axis includes 0; default: where that less than doubles the range

---@class actor.plot.Options what all charts take
---@field title? string
---@field subtitle? string the parameters, say
---@field x? actor.plot.AxisOptions
---@field y? actor.plot.AxisOptions
---@field notes? string[] lines below the plot
---@field width? number pixels, default 720
---@field height? number default 440; more where the words need it

---@class actor.plot.Series
---@field name? string
---@field x? number[] default 1, 2, ...
---@field y number[]
---@field low? number[] with `high`: a confidence band, or error bars with style "points"
---@field high? number[]
---@field style? "line"|"step"|"points" default "line"; "step": a value holds until the next x
---@field look? integer the number of its colour, marker and dash, default its place: for the same in several figures

---@class actor.plot.LineOptions : actor.plot.Options
---@field series? actor.plot.Series[]
---@field references? {name?: string, x?: number[], y: number[]}[] hollow markers, for published figures

---Draws lines, steps or points over x, with confidence bands or error bars.
---@param options actor.plot.LineOptions
---@return string svg
function M.line(options)
  return line.line(options)
end

---@class actor.plot.CdfOptions : actor.plot.Options
---@field series? {name?: string, samples?: number[], values?: number[], counts?: number[], look?: integer}[] samples, or the values of a
---  histogram with how often each occurs
---@field references? {name?: string, x?: number[], y: number[]}[] y is 0 .. 1

---Draws cumulative distributions: the share of samples at or below x. Markers stand at the quartiles.
---@param options actor.plot.CdfOptions
---@return string svg
function M.cdf(options)
  return cdf.cdf(options)
end

---@class actor.plot.BarOptions : actor.plot.Options
---@field categories string[]
---@field series? {name?: string, y: number[], low?: number[], high?: number[], looks?: integer[]}[] a number for each
---  category; `looks`: the number of the colour of each bar, default the series'
---@field references? {name?: string, y: number[], series?: string}[] hollow markers, over the bars of that series
---@field values? boolean|string each bar's value on top of it, where it has room; a string is its format ("%.1f")

---Draws bars over categories, several series beside each other, with error bars.
---@param options actor.plot.BarOptions
---@return string svg
function M.bars(options)
  return bars.bars(options)
end

---Writes a figure to a file. A regular file is replaced in one step, once all bytes are written beside it, and stays as
---it was when that fails; anything else (/dev/stdout, a pipe) is written in place.
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
---@param path string
---@param svg string
---@param options? {width?: integer, scheme?: "light"|"dark", loader?: fun(): any} width in pixels, default twice the
---  figure's; scheme "light"; loader: where librsvg comes from, for tests
---@return true? saved
---@return string? message
---@return string? code "unavailable" (no librsvg), "invalid" (no SVG, or too large), "unwritable"
function M.png(path, svg, options)
  local fn = "plot.png"
  check.arg(path, "string", "path", fn)
  check.arg(svg, "string", "svg", fn)
  options = options or {}
  check.options(options, { width = "number?", scheme = "string?", loader = "function?" }, fn)
  if options.width then check.integer(options.width, "width", fn, 1, 32767) end
  if options.scheme then check.one_of(options.scheme, { "light", "dark" }, "scheme", fn) end
  return png.write(path, svg, options, options.loader)
end

return M
