-- Checks the prose of comments, docstrings and pages: the turns that make a reader stop, by their rate in each file, and
-- the length of lines. Checks that the links of pages have targets. Usage: luajit prose.lua < list of files. Prints each
-- line that is refused or too long, each broken link, and each file with too high a rate and its worst lines; exit 1 if
-- there is any.

-- The most marks per 1,000 words of a file. A short file has too few words for a rate.
local most, least_words = 8, 100
-- Columns of a line of prose in pages and Lua comments; clang-format checks other files.
local most_columns = 120

-- A mark is a word or turn that a plain sentence rarely needs. A pattern that begins with ^ holds at the start of a
-- clause. Words are in lower case.
local marks = {
  { "a process is a thing, not a person", { "who", "whom", "whose", "whoever", "nobody", "somebody", "anybody", "everybody" } },
  { "tell which process sends, requests or reports what", { "told", "tell", "tells", "said", "says", "heard", "hear", "hears" } },
  { "use a verb of the field", { "gone", "come", "comes", "came", "goes", "lies", "lie", "lay", "stand", "stands", "stood" } },
}
local turns = {
  { "a noun, not a clause", { "^what ", " of what ", " to what ", " with what ", " for what ", " by what ", " from what ",
    " at what ", " than what ", " and what ", " but what ", " all what " } },
  { "say it with a verb", { " of which ", " in which ", " on which ", " by which ", " from which ", " to which ",
    " for which ", " with which ", " of whom ", " to whom ", " for whom " } },
  { "an adjective, or another verb", { " that is ", " that are ", " that has ", " that have ", " that was ", " that were ",
    " that had " } },
}
-- Turns that no sentence of this project needs.
local refused = { "whoever", "nobody", "somebody", "everybody", "newcomer", "graveyard", "is under way", "are under way",
  "is told", "are told", "was told", "has heard", "comes late", "what it has got" }

local advice_of_word = {}
for _, group in ipairs(marks) do
  for _, word in ipairs(group[2]) do advice_of_word[word] = group[1] end
end

-- Whether a line of prose is too long. Tables, code, annotations and the runs of a test's job are no prose.
local function too_long(path, line)
  if line:match("^|") or line:match("^%s*%-%-%-?@") or line:match("^%s*%-%-%-? ?    ") or line:match("^%-%- case:") or line:match("^%-%- deep:") then
    return false
  end
  if path:match("%.lua$") and not line:match("^%s*%-%-") then return false end -- code before the comment
  return (path:match("%.md$") or path:match("%.lua$")) and select(2, line:gsub("[^\128-\191]", "")) > most_columns
end

-- Yields (line number, text, line) of the text for people.
local function prose(path, text)
  local number, fenced, block = 0, false, false
  local lines = text:gmatch("([^\n]*)\n?")
  local is_page, is_lua = path:match("%.md$"), path:match("%.lua$")
  return function()
    for line in lines do
      number = number + 1
      if is_page then
        if line:match("^```") then fenced = not fenced end
        if not fenced and not line:match("^```") and not line:match("^    ") then
          return number, (line:gsub("`[^`]*`", "x")), line
        end
      else
        local at
        if is_lua then
          at = line:match("^%s*()%-%-") or line:match("%s()%-%- ")
        else
          at = line:find("//", 1, true)
          if at and line:sub(at - 1, at - 1) == ":" then at = nil end
        end
        if not is_lua and (block or line:find("/*", 1, true)) then
          block = not line:find("*/", 1, true)
          at = at or 1
        end
        if at then return number, (line:sub(at):gsub("`[^`]*`", "x"):gsub("^[-/*]+%s*", ""):gsub("^@%w+", "")), line end
      end
    end
  end
end

local function marks_of(text)
  local found = {}
  for word in text:gmatch("%a+") do
    if advice_of_word[word] then found[#found + 1] = { word, advice_of_word[word] } end
  end
  local clauses = " " .. text .. " "
  for _, group in ipairs(turns) do
    for _, turn in ipairs(group[2]) do
      local is_begin = turn:sub(1, 1) == "^"
      local from = 1
      while true do
        local at, to
        if is_begin then at, to = clauses:find("[.;:(,] " .. turn:sub(2), from) else at, to = clauses:find(turn, from, true) end
        if not at then break end
        found[#found + 1] = { (turn:gsub("^%^", "")), group[1] }
        from = to
      end
    end
  end
  return found
end

local problems = 0
local function complain(...)
  problems = problems + 1
  io.write(string.format(...), "\n")
end

local function read(path)
  local file = io.open(path)
  local text = file and (file:read("*a") or "") -- "" of a folder
  if file then file:close() end
  return text
end

-- Whether a page has the heading of an anchor: "## The first job" has #the-first-job.
local function has_heading(text, anchor)
  for heading in ("\n" .. text):gmatch("\n#+ ([^\n]+)") do
    if heading:lower():gsub("[^%w%s_-]", ""):gsub("%s", "-") == anchor then return true end
  end
  return false
end

local function check_links(path, text)
  local prose_text = ("\n" .. text):gsub("\n    [^\n]*", ""):gsub("```.-```", ""):gsub("`[^`\n]*`", "x")
  for link in prose_text:gmatch("%]%(([^)%s]+)%)") do
    local name, anchor = link:match("^([^#]*)#?(.*)$")
    local target = name == "" and text or read((path:match("^.*/") or "") .. name)
    if link:find("^%a+:") then
      -- not a page of this tree
    elseif not target then
      complain("%s: broken link: there is no %s", path, name)
    elseif anchor ~= "" and not has_heading(target, anchor) then
      complain("%s: broken link: %s has no heading #%s", path, name == "" and path or name, anchor)
    end
  end
end

for path in io.lines() do
  if path:find("%.md$") then check_links(path, read(path)) end
  local file = path:match("%.[chl]p?p?u?a?$") or path:match("%.md$") or path:match("%.hpp$")
  if file and not path:match("^scripts/lint/prose%.lua$") then
    local words, count, list = 0, 0, {}
    for number, line, whole in prose(path, assert(io.open(path)):read("*a")) do
      if too_long(path, whole) then complain("%s:%d: longer than %d columns", path, number, most_columns) end
      local text = line:gsub('"[^"]*"', "x"):lower() -- without quoted texts
      for _ in text:gmatch("%a[%a']*") do words = words + 1 end
      for _, turn in ipairs(refused) do
        if (" " .. text .. " "):find("%A" .. turn .. "%A") then complain('%s:%d: refused: "%s"', path, number, turn) end
      end
      for _, mark in ipairs(marks_of(text)) do
        count = count + 1
        list[#list + 1] = ('  %s:%d: "%s": %s'):format(path, number, mark[1]:match("^%s*(.-)%s*$"), mark[2])
      end
    end
    if words > least_words and 1000 * count / words > most then
      complain("%s: %d marks in %d words of prose, %.1f per 1,000; at most %d", path, count, words, 1000 * count / words, most)
      for i = 1, math.min(4, #list) do io.write(list[i], "\n") end
    end
  end
end
os.exit(problems == 0 and 0 or 1)
