--- Numbers and tables as text for observers of a run: aligned columns, sizes, durations.
local M = {}

---@param bytes number
---@return string such as "4.2 MB"
function M.bytes(bytes)
  if bytes < 1000 then return ("%d B"):format(bytes) end
  for _, unit in ipairs { "kB", "MB", "GB" } do
    bytes = bytes / 1000
    if bytes < 999.5 then return (bytes < 9.95 and "%.1f %s" or "%.0f %s"):format(bytes, unit) end
  end
  return ("%.1f TB"):format(bytes / 1000)
end

---@param seconds number
---@return string such as "320 ms", "4.2 s", "12 min"
function M.seconds(seconds)
  if seconds < 0.001 then return ("%.0f us"):format(seconds * 1e6) end
  if seconds < 0.9995 then return ("%.0f ms"):format(seconds * 1000) end
  if seconds < 99.5 then return ("%.1f s"):format(seconds) end
  if seconds < 5970 then return ("%.0f min"):format(seconds / 60) end
  return ("%.1f h"):format(seconds / 3600)
end

---Breaks lines longer than `columns` at spaces. A continued line is indented by two columns more than its line.
---@param text string
---@param columns integer
---@return string
function M.wrapped(text, columns)
  local lines = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    local indent = math.min(#line:match("^%s*") + 2, math.floor(columns / 2))
    while M.width(line) > columns do
      local at, width
      for place, word in line:gmatch("()%s(%S)") do
        width = M.width(line:sub(1, place - 1))
        if width > columns then break end
        if width > indent and word then at = place end
      end
      if not at then break end
      lines[#lines + 1] = (line:sub(1, at - 1):gsub("%s+$", ""))
      line = (" "):rep(indent) .. line:sub(at + 1)
    end
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

--- Counts the characters of a text; a UTF-8 character may take several bytes.
---@param text string
---@return integer
function M.width(text)
  local _, followers = text:gsub("[\128-\191]", "")
  return #text - followers
end

---@param heads string[] one name per column; ">" before a name aligns the column to the right
---@param rows string[][]
---@return string
function M.columns(heads, rows)
  local right, widths = {}, {}
  local shown = {}
  for i, head in ipairs(heads) do
    right[i] = head:sub(1, 1) == ">"
    shown[i] = right[i] and head:sub(2) or head
    widths[i] = M.width(shown[i])
  end
  for _, row in ipairs(rows) do
    for i = 1, #heads do widths[i] = math.max(widths[i], M.width(row[i] or "")) end
  end
  local lines = {}
  local function add(row)
    local cells = {}
    for i = 1, #heads do
      local cell = row[i] or ""
      local gap = (" "):rep(widths[i] - M.width(cell))
      cells[i] = right[i] and gap .. cell or cell .. gap
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  add(shown)
  for _, row in ipairs(rows) do add(row) end
  return table.concat(lines, "\n")
end

return M
