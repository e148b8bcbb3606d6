--- A folder for the results of a job: figures and tables.
---
---     local folder = actor.folder.new("results")
---     folder:figure("loss", plot.line { ... })                                        -- results/loss.svg and loss.png
---     folder:csv("loss.csv", { "step", "loss %.4f" }, { { step = 1, loss = 2.31 } })
local check = require("actor.check")
local files = require("actor.c.files")
local log = require("actor.log")
local plot = require("actor.plot")
local csv = require("actor.sim.table").formats.csv

---@class actor.folder
local M = {}

---@class actor.Folder
---@field path string
local Folder = {}
Folder.__index = Folder
setmetatable(Folder, check.strict("folder:"))

---Makes a folder and its parents, unless it exists. Raises on failure.
---@param path string
---@return actor.Folder
function M.new(path)
  check.arg(path, "string", "path", "folder.new")
  local made, message = files.make_directory(path)
  if not made then check.fail("folder.new: %s", message) end
  return setmetatable({ path = path }, Folder)
end

---Writes a figure as NAME.svg and NAME.png. Without librsvg it logs a warning and writes no PNG; other failures raise.
---@param name string
---@param svg string from actor.plot
function Folder:figure(name, svg)
  check.arg(name, "string", "name", "folder:figure")
  local path = self.path .. "/" .. name
  local saved, message, code = plot.save(path .. ".svg", svg)
  if saved then saved, message, code = plot.png(path .. ".png", svg) end
  if saved then return end
  if code ~= "unavailable" then check.fail("folder:figure: %s", message) end
  log.warn("%s.png is not made: %s", path, message)
end

---Writes rows as CSV in one step: a reader never sees a partial file. Raises on failure.
---@param name string of the file
---@param columns string[] fields of the rows. Numbers are written with up to 10 digits, or by a format
---  after the field and a space: "seconds %.3f"
---@param rows table[] a nil field is an empty cell
function Folder:csv(name, columns, rows)
  check.arg(name, "string", "name", "folder:csv")
  check.arg(columns, "table", "columns", "folder:csv")
  check.arg(rows, "table", "rows", "folder:csv")
  local names, formats, lines = {}, {}, {}
  for i, column in ipairs(columns) do
    local field, format = column:match("^(.-) (%%.*)$")
    names[i], formats[i] = field or column, format
  end
  for r, row in ipairs(rows) do
    local cells = {}
    for i, field in ipairs(names) do
      local value = row[field]
      cells[field] = value ~= nil and formats[i] and formats[i]:format(value) or value
    end
    lines[r] = csv.line(cells, names)
  end
  local saved, message = plot.save(self.path .. "/" .. name, table.concat(names, ",") .. "\n" .. table.concat(lines))
  if not saved then check.fail("folder:csv: %s", message) end
end

return M
