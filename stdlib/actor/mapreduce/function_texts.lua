--- The text of a function in its source file: its tokens, without comments and independent of layout.
local M = {}

-- Patterns of a token at a place, tried in order. Strings and comments with long brackets are checked first.
local words = { "^%s+()", "^[%a_][%w_]*()", "^0[xX][%x%.]+()", "^%d[%w%.]*()", "^[=~<>]=()", "^%.%.+()", "^.()" }

-- Returns the end of the string with its quote at `at`.
local function string_end(text, at)
  local quote = text:sub(at, at)
  local i = at + 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == "\\" then
      i = i + 1
    elseif c == quote then
      return i + 1
    end
    i = i + 1
  end
  return i
end

-- Returns the end of the long brackets that open at `at`; nil without long brackets.
local function long_end(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, stop = text:find("]" .. level .. "]", at, true)
  return (stop or #text) + 1
end

-- Returns the end of the next token or comment, and whether it is a comment or white space.
local function next_end(text, at)
  if text:find("^%-%-", at) then return long_end(text, at + 2) or text:find("\n", at, true) or #text + 1, true end
  if text:find("^[\"']", at) then return string_end(text, at), false end
  local stop = long_end(text, at)
  if stop then return stop, false end
  for _, word in ipairs(words) do
    stop = text:match(word, at)
    if stop then return stop, word == words[1] end
  end
end

local opens = { ["function"] = true, ["if"] = true, ["do"] = true }

local function count_lines(text)
  local _, count = text:gsub("\n", "")
  return count
end

---The functions of a source, by their first and last lines: "12-14". Functions on the same lines have their texts
---joined.
---@param text string
---@return table<string, string>
function M.of(text)
  local out, parts, blocks = {}, {}, {}
  local at, line = 1, 1
  while at <= #text do
    local stop, silent = next_end(text, at)
    local part = text:sub(at, stop - 1)
    if not silent then
      parts[#parts + 1] = part
      if opens[part] then
        blocks[#blocks + 1] = { is_function = part == "function", first = #parts, line = line }
      elseif part == "end" and #blocks > 0 then
        local block = table.remove(blocks)
        local name = block.line .. "-" .. line
        if block.is_function then out[name] = (out[name] or "") .. table.concat(parts, " ", block.first) .. "\n" end
      end
    end
    line = line + count_lines(part)
    at = stop
  end
  return out
end

return M
