-- The drawn rule, which also appends its input and decision to "views" as a line of numbers.
local run = require "replay_rule_drawn"
local file
return function(view)
  file = file or assert(io.open("views", "w"))
  local row = { view.now, view.id, view.step, view.waited, view.buffered, view.n }
  for _, name in ipairs { "ids", "steps", "busy", "alive", "pulled", "started", "durations", "averages" } do
    for i = 1, view.n do
      local value = view[name][i]
      row[#row + 1] = type(value) == "boolean" and (value and 1 or 0) or value
    end
  end
  local pass, recheck = run(view)
  row[#row + 1], row[#row + 2] = pass and 1 or 0, recheck or math.huge
  for i = 1, #row do row[i] = ("%.17g"):format(row[i]) end
  file:write(table.concat(row, " "), "\n")
  file:flush()
  return pass, recheck
end
