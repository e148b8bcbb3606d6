--- A view of a run's state as text (`:log`): the newest lines of the run's log, with its membership changes.
local M = {}

---Returns the newest lines, in the order of their times.
---@param state table the run's state, with `log` and `members`
---@param name? string "rank 3": only this node's lines of the log
---@param most? integer number of lines, default 40
---@return string
function M.table(state, name, most)
  local lines = {}
  for _, line in ipairs(state.log or {}) do
    if not name or line.who == name then
      lines[#lines + 1] = { t = line.t or 0, text = ("%-5s %s%s"):format(line.level or "", line.who and line.who ~= "" and
        line.who .. ": " or "", line.text or "") }
    end
  end
  if not name then
    for _, line in ipairs(state.members or {}) do
      lines[#lines + 1] = { t = line.t or 0, text = ("members epoch %s: %s"):format(line.epoch or "?", line.text or "") }
    end
  end
  if #lines == 0 then return name and ("the log has no line of %s"):format(name) or "the log is empty" end
  for i, line in ipairs(lines) do line.place = i end
  table.sort(lines, function(a, b)
    if a.t ~= b.t then return a.t < b.t end
    return a.place < b.place
  end)
  local shown = {}
  for i = math.max(1, #lines - (most or 40) + 1), #lines do
    shown[#shown + 1] = ("%10.3f  %s"):format(lines[i].t, lines[i].text)
  end
  return table.concat(shown, "\n")
end

return M
