--- A source whose partitions write a line each time they are computed: "ID PARTITION" in the file `made`. For jobs of
--- mapreduce_persist_test.cpp.
local actor = require "actor"
local mr = require "actor.mapreduce"

local M = {}

--- Appends `text` to the file.
function M.write(name, text)
  local file = assert(io.open(name, "a"))
  file:write(text)
  file:close()
end

function M.noted(before)
  return mr.range(1, 3000, 1, 30):map_partition(function(rows, i)
    if before then before() end
    M.write("made", actor.id .. " " .. i .. "\n")
    return rows
  end)
end

return M
