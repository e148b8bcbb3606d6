--- Texts in UTF-8: words and letters of all scripts, where Lua's own functions see bytes. By Unicode's tables (utf8proc).
---
---     for word in text.words(text.lower("Don't say Привет, Straße!")) do print(word) end -- don't, say, привет, straße
---
--- A text may hold any bytes. A byte that is no valid UTF-8 stays as it is, is no part of a word, and counts as one
--- character. ASCII text costs about what Lua's functions cost.
local ffi = require("ffi")
local check = require("actor.check")
local api = require("actor.ffi")("text")
local c = require("actor.c.text")

local sub, lower = string.sub, string.lower

---@class actor.text
local M = {}

local Words = ffi.typeof("ah_text_words")

---Iterates over the words of a text. A word is letters and digits with their combining marks; an apostrophe or a joiner
---is part of it between letters ("don't" is one word). Everything else lies between words. Scripts that are written
---without spaces (Chinese, Japanese, Thai) give whole runs of letters.
---
---     mr.load("corpus/*.txt"):flatmap(text.words):map(text.lower):count_by_value()
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

---Returns the text with each letter in lower case. A capital sigma at the end of a word becomes the final one
---("ΟΔΟΣ" is "οδος"). No language is special: I becomes i in Turkish texts too, and İ an i with a combining dot (two
---characters); ı stays.
---@param text string
---@return string
function M.lower(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.lower") end
  if api.is_ascii(text, #text) ~= 0 then return lower(text) end
  return c.lower(text)
end

---Returns the text with case folded away, to compare texts or to use them as keys: those that differ in case alone
---become the same ("STRASSE" and "Straße" are "strasse", Σ, σ and ς are σ). To show a word take `lower`.
---@param text string
---@return string
function M.fold(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.fold") end
  if api.is_ascii(text, #text) ~= 0 then return lower(text) end
  return c.fold(text)
end

---Returns the text in normalisation form C: a letter and its marks become one character where Unicode has one. "é" may
---come as one character or as e with a combining accent; only normalised they are the same text.
---@param text string
---@return string
function M.nfc(text)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.nfc") end
  if api.is_ascii(text, #text) ~= 0 then return text end
  return c.nfc(text)
end

---Returns how many characters the text has.
---@param text string
---@param unit? "characters"|"graphemes" code points (the default), or what a reader sees as one: a letter with its marks, an emoji of several parts
---@return integer
function M.length(text, unit)
  if type(text) ~= "string" then check.arg(text, "string", "text", "text.length") end
  if unit ~= nil then check.one_of(unit, { "characters", "graphemes" }, "unit", "text.length") end
  if unit == "graphemes" then return api.graphemes(text, #text) end
  return api.characters(text, #text)
end

return M
