--- Functions for UTF-8 texts: words, letter case and length in all scripts. Lua's own string functions work on bytes.
--- The properties of characters are Unicode's (utf8proc).
---
---     for word in text.words(text.lower("Don't say Привет, Straße!")) do print(word) end -- don't, say, привет, straße
---
--- A text may have any bytes. A byte outside valid UTF-8 is unchanged, belongs to no word, and counts as one character.
--- ASCII text costs about as much as with Lua's functions.
local ffi = require("ffi")
local check = require("actor.check")
local api = require("actor.ffi")("text")
local c = require("actor.c.text")

local sub, lower = string.sub, string.lower

---@class actor.text
local M = {}

local Words = ffi.typeof("ah_text_words")

---Iterates over the words of a text. A word consists of letters and digits with their combining marks, and of
---apostrophes and joiners between letters ("don't" is one word). All other characters separate words. In scripts
---without spaces between words (Chinese, Japanese, Thai) a whole run of letters is one word.
---```lua
---for word in actor.text.words("Don't panic, reader!") do print(word) end
---
---
---
-----> Don't
-----> panic
-----> reader
---```
---@param text string
---@return fun(): string? next
function M.words(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.words") end
  local words = Words()
  local i, count = 0, 0
  return function()
    if i == count then
      i, count = 0, api.words(text, #text, words)
      if count == 0 then return nil end
    end
    i = i + 1
    return sub(text, words.first[i - 1], words.last[i - 1])
  end
end

---Returns the text with each letter in lower case. A capital sigma at the end of a word becomes the final sigma: "ΟΔΟΣ"
---becomes "οδος". The result does not depend on the language, so the rules of Turkish do not apply: I becomes i, İ
---becomes an i with a combining dot (two characters), and ı is unchanged.
---```lua
---print(actor.text.lower("ÄRGER"))  --> ärger
---```
---@param text string
---@return string
function M.lower(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.lower") end
  if api.is_ascii(text, #text) ~= 0 then return lower(text) end
  return c.lower(text)
end

---Returns the text with its case folded, for comparisons and keys: texts that differ only in case become equal.
---"STRASSE" and "Straße" become "strasse"; Σ, σ and ς become σ. To show a text in lower case use `lower`.
---```lua
---print(actor.text.fold("STRASSE") == actor.text.fold("Straße"))  --> true
---```
---@param text string
---@return string
function M.fold(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.fold") end
  if api.is_ascii(text, #text) ~= 0 then return lower(text) end
  return c.fold(text)
end

---Returns the text in normalisation form C: a letter and its marks become one character where Unicode has such a
---character. "é" may be one character or e with a combining accent; the two texts are equal only after normalisation.
---```lua
---print(#actor.text.nfc("e\204\129"), #"e\204\129")  --> 2 3
---```
---@param text string
---@return string
function M.nfc(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.nfc") end
  if api.is_ascii(text, #text) ~= 0 then return text end
  return c.nfc(text)
end

---Returns the number of characters of the text.
---```lua
---print(actor.text.length("café"))  --> 4
---```
---@param text string
---@param unit? "characters"|"graphemes" code points (the default), or characters as a reader sees them: a letter with
---  its marks, an emoji of several parts
---@return integer
function M.length(text, unit)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.length") end
  if unit ~= nil then check.one_of(unit, { "characters", "graphemes" }, "unit", "text.length") end
  if unit == "graphemes" then return api.graphemes(text, #text) end
  return api.characters(text, #text)
end

return M
