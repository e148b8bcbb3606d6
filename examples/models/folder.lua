-- A folder for the results of an experiment, made with its parents unless it exists:
--     local folder = require("models.folder")("results")
--     folder:figure("loss", plot.line { ... })                                      -- results/loss.svg and loss.png
--     folder:csv("loss.csv", { "step", "loss %.4f" }, { { step = 1, loss = 2.31 } })
local actor = require "actor"
local csv = require("actor.sim.table").formats.csv

local Folder = {}
Folder.__index = Folder

-- Without librsvg a figure has no PNG.
function Folder:figure(name, svg)
  local path = self.path .. "/" .. name
  assert(actor.plot.save(path .. ".svg", svg))
  local saved, message, code = actor.plot.png(path .. ".png", svg)
  if saved then return end
  if code ~= "unavailable" then error(message, 2) end
  actor.log.warn("%s.png is not made: %s", path, message)
end

-- Columns are fields of the rows, with a format after a space or without; a nil field is an empty cell.
function Folder:csv(name, columns, rows)
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
  assert(actor.plot.save(self.path .. "/" .. name, table.concat(names, ",") .. "\n" .. table.concat(lines)))
end

return function(path)
  local made, message = require("actor.c.files").make_directory(path)
  if not made then error(message, 2) end
  return setmetatable({ path = path }, Folder)
end
