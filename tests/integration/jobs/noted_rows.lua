--- A source whose partitions write a line each time they are computed: "ID PARTITION" in the file `made`.
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

--- The lines before the line "--" or, with `after`, after it: their number, the set of partitions and that of worker 2.
function M.made(after)
  local count, parts, of_2, counts = 0, {}, {}, not after
  for line in io.lines("made") do
    if line == "--" then
      counts = not counts
    elseif counts then
      local id, part = line:match("(%d+) (%d+)")
      count, parts[part] = count + 1, true
      if id == "2" then of_2[part] = true end
    end
  end
  return count, parts, of_2
end

return M
