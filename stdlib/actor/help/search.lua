--- Searches the texts of the help: docstrings, sections of guides, and the flags of commands. The pages of the
--- reference search the same list: reference.js adds points for a title that the user types.
local guides = require("actor.help.guides")
local luacats = require("actor.help.luacats")

local M = {}

---@class actor.help.Text
---@field title string "param.run", "How do I read a CSV file?"
---@field kind string "function", "type", "module", "guide" or "flag"
---@field summary string the first sentence
---@field url? string of its page in the reference
---@field words string the different words of the text and title, each once, with a blank before and after each
---@field heads string the words of the title, in the same form
---@field entry? actor.help.Entry of a docstring
---@field section? actor.help.Section of a guide

local common = {}
for word in ([[a about an and any are as at be but by can do does for from get give has have how i if in into is it its
  make me my no not of on one or other our should so such than that the their them then there these they this to too use
  using want was we what when where which will with without would you your]]):gmatch("%S+") do common[word] = true end

-- A word without common endings, so that "reading", "reads" and "read" are one word.
local function shorten(word)
  for _, ending in ipairs { "ing", "ed", "es", "s" } do
    local rest = #word > #ending + 2 and word:match("^(.*)" .. ending .. "$")
    if rest and not (ending == "s" and rest:find("s$")) then return rest end
  end
  return word
end

local stems = setmetatable({}, {
  __index = function(known, word)
    local short = shorten(word)
    known[word] = short
    return short
  end,
})

---Returns the words of a text that count in a search, without endings, each once, in order.
---@param text string
---@return string[]
function M.words(text)
  local words, seen = {}, {}
  for word in text:lower():gsub("(%l)_(%l)", "%1 %2"):gmatch("[%w\128-\255]+") do
    local short = stems[word]
    if not common[word] and not seen[short] then
      seen[short] = true
      words[#words + 1] = short
    end
  end
  return words
end

local function packed(text) return " " .. table.concat(M.words(text), " ") .. " " end

local longest_summary = 200

---Returns a text of at most `length` bytes and " ...": cut behind a word, or within a longer word.
---@param text string
---@param length integer
---@return string
function M.shortened(text, length)
  if #text <= length then return text end
  local cut = text:sub(1, length)
  return (cut:match("^(.*)%s") or cut) .. " ..."
end

---Returns the first sentence of a text, cut if it is long.
---@param text string
---@return string
function M.sentence(text)
  text = text:gsub("%s+", " "):gsub("`", ""):match("^%s*(.-)%s*$")
  text = text:match("^(.-%.)%s") or text
  return M.shortened(text, longest_summary)
end

---Makes a text of the list.
---@param kind string
---@param title string
---@param text string
---@param more table further fields
---@return actor.help.Text
function M.text(kind, title, text, more)
  more.kind, more.title, more.summary = kind, title, M.sentence(text)
  more.words, more.heads = packed(title .. " " .. text), packed(title)
  return more
end

---Appends the sections of the guides.
---@param texts actor.help.Text[]
function M.add_guides(texts)
  for _, guide in ipairs(guides.present()) do
    for i, section in ipairs(guides.sections(guide)) do
      local plain = section.text:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("[`*]", "")
      local text = M.text("guide", i == 1 and guide.title or section.heading, plain, { section = section,
        url = ("guide-%s.html#%s"):format(guide.name, section.anchor) })
      text.summary = M.sentence((("\n" .. plain):gsub("\n|[^\n]*", ""):gsub("\n    [^\n]*", ""))) -- no table, no code
      texts[#texts + 1] = text
    end
  end
end

---Appends a docstring.
---@param texts actor.help.Text[]
---@param entry actor.help.Entry
---@param title string
---@param url? string
function M.add_entry(texts, entry, title, url)
  local description, tags = luacats.parse(entry.text)
  local words = { table.concat(description, " ") }
  for _, tag in ipairs(tags) do words[#words + 1] = (tag.name or "") .. " " .. tag.text end
  local kind = entry.head and "module" or entry.type and "type" or "function"
  texts[#texts + 1] = M.text(kind, title, table.concat(words, " "), { entry = entry, url = url })
end

-- How much a kind counts: a question's answer more than a type's description.
local weights = { guide = 1.3, ["function"] = 1, module = 1, flag = 0.9, type = 0.7 }

---Finds the texts about some words, the best first: a word counts more if few texts have it, and in a title.
---@param texts actor.help.Text[]
---@param query string
---@return actor.help.Text[]
function M.find(texts, query)
  local words, found = M.words(query), {}
  local rarity = {}
  for _, word in ipairs(words) do
    local count = 0
    for _, text in ipairs(texts) do
      if text.words:find(" " .. word, 1, true) then count = count + 1 end
    end
    rarity[word] = math.log(1 + #texts / (1 + count))
  end
  for i, text in ipairs(texts) do
    local score = 0
    for _, word in ipairs(words) do
      local whole, start = " " .. word .. " ", " " .. word
      local part = text.heads:find(whole, 1, true) and 4 or text.heads:find(start, 1, true) and 2
        or text.words:find(whole, 1, true) and 1 or text.words:find(start, 1, true) and 0.5 or 0
      score = score + part * rarity[word]
    end
    if score > 0 then found[#found + 1] = { text = text, score = score * weights[text.kind], i = i } end
  end
  table.sort(found, function(a, b)
    if a.score ~= b.score then return a.score > b.score end
    return a.i < b.i
  end)
  for i, row in ipairs(found) do found[i] = row.text end
  return found
end

return M
