--- Text in a figure: XML escapes, widths, lines. Widths are estimated from character classes, slightly above those of
--- the common sans-serif fonts: the reader's font is unknown and may be wide, and no text may be cut.
local M = {}

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&apos;" }
local replacement = "\239\191\189" -- U+FFFD

-- The bytes of the UTF-8 character at i and its code point; 1, nil for invalid bytes.
local function decode(text, i)
  local lead = text:byte(i)
  local length = lead < 0x80 and 1 or lead < 0xc2 and 0 or lead < 0xe0 and 2 or lead < 0xf0 and 3 or lead < 0xf5 and 4 or 0
  if length == 0 then return 1, nil end
  if length == 1 then return 1, lead end
  local code = lead % 2 ^ (7 - length)
  for k = i + 1, i + length - 1 do
    local byte = text:byte(k)
    if not byte or byte < 0x80 or byte > 0xbf then return 1, nil end
    code = code * 64 + byte % 64
  end
  local shortest = length == 3 and 0x800 or length == 4 and 0x10000 or 0x80
  if code < shortest or code > 0x10ffff or (code >= 0xd800 and code <= 0xdfff) then return 1, nil end
  return length, code
end

-- Iterates over the characters of a text: their bytes and code point. Yields the replacement character for invalid
-- bytes and for characters that XML forbids.
local function characters(text)
  local i = 1
  return function()
    if i > #text then return nil end
    local length, code = decode(text, i)
    local bytes = text:sub(i, i + length - 1)
    i = i + length
    if code == nil or (code < 0x20 and code ~= 9 and code ~= 10 and code ~= 13) or code == 0xfffe or code == 0xffff then
      return replacement, 0xfffd
    end
    return bytes, code
  end
end

---Encodes text as XML content or as a quoted attribute. Invalid UTF-8 and control characters become U+FFFD.
---@param text string
---@return string
function M.escape(text)
  if not text:find("[^%w %.,;:%-%+%(%)%%/=_]") then return text end
  local out = {}
  for bytes in characters(text) do out[#out + 1] = entities[bytes] or bytes end
  return table.concat(out)
end

local narrow, slim, wide = {}, {}, {}
for c in ("iljI.,:;'|! "):gmatch(".") do narrow[c] = true end
for c in ("ftr()[]{}/\\\"-`"):gmatch(".") do slim[c] = true end
for c in ("mwMW@%+=<>~#&"):gmatch(".") do wide[c] = true end

local function em(bytes, code)
  if code < 0x80 then
    if narrow[bytes] then return 0.32 end
    if slim[bytes] then return 0.42 end
    if wide[bytes] then return 0.92 end
    return bytes:find("%u") and 0.72 or bytes:find("%d") and 0.62 or 0.59
  end
  if code >= 0x300 and code <= 0x36f then return 0 end -- combining marks
  if code == 0xb2 or code == 0xb3 or code == 0xb9 or (code >= 0x2070 and code <= 0x209f) then return 0.44 end
  return code >= 0x1100 and (code < 0x2000 or code >= 0x2e80) and 1.05 or 0.75
end

---Width in pixels.
---@param text string
---@param size number of the font, in pixels
---@return number
function M.width(text, size)
  local sum = 0
  for bytes, code in characters(text) do sum = sum + em(bytes, code) end
  return sum * size
end

-- The longest prefix of a word that fits, with an ellipsis, and the rest.
local function split(word, size, room)
  local sum, at = 0, 0
  for bytes, code in characters(word) do
    sum = sum + em(bytes, code) * size
    if sum > room and at > 0 then break end
    at = at + (bytes == replacement and 1 or #bytes)
  end
  return word:sub(1, at), word:sub(at + 1)
end

---Splits a text into lines of at most `room` pixels, at blanks, or inside a word wider than a line. Text beyond `most`
---lines is replaced by an ellipsis.
---@param text string
---@param size number
---@param room number
---@param most? integer
---@return string[]
function M.wrap(text, size, room, most)
  local lines, line = {}, ""
  local function flush() lines[#lines + 1], line = line, "" end
  for word in text:gmatch("%S+") do
    local joined = line == "" and word or line .. " " .. word
    if M.width(joined, size) > room then
      if line ~= "" then flush() end
      while M.width(word, size) > room do
        local part, rest = split(word, size, room)
        if rest == "" then break end
        lines[#lines + 1], word = part, rest
      end
      line = word
    else
      line = joined
    end
  end
  if line ~= "" then flush() end
  if most and #lines > most then
    for i = #lines, most + 1, -1 do lines[i] = nil end
    local last = split(lines[most], size, room - size)
    lines[most] = last .. "\226\128\166"
  end
  return lines
end

return M
