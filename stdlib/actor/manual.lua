--- Manual pages from the texts of `--help`, for `actorhost help --man COMMAND`.
local M = {}

-- Text for roff: dashes for searching and copying, breaks after the commas of long words, no line like a request.
local function escaped(text)
  text = text:gsub("%S+", function(word) return #word > 40 and word:gsub(",", ",\0") or word end)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("%z", "\\:")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

-- "-n,--nproc-per-node N": names in bold letters, the name of the value in italics.
local function head_of(words)
  local names, value = words:match("^(%-%S+) (.+)$")
  local bold = ("\\fB%s\\fR"):format(escaped(names or words))
  if words:find("^%-") then bold = bold:gsub(",", "\\fR, \\fB") end
  return value and ("%s \\fI%s\\fR"):format(bold, escaped(value)) or bold
end

local titles = { ["Exit codes"] = "EXIT STATUS", ["Variables, where the flag is not given"] = "ENVIRONMENT" }

-- Reads a help text into sections of {title, parts}. A part is a paragraph, or a {head, text} of an indented list.
-- Lines of the list begin with two blanks; their texts begin far to the right, on the same line or on the next.
local function sections_of(text)
  local sections, part = { { title = "DESCRIPTION" } }, nil
  local function add(new)
    part = new
    table.insert(sections[#sections], new)
  end
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local title = line:match("^(%u[^:]*):$")
    local indent, words = line:match("^(%s*)(.-)%s*$")
    if title then
      sections[#sections + 1], part = { title = titles[title] or title:upper() }, nil
    elseif words == "" then
      part = nil
    elseif #indent == 2 then
      if #sections == 1 and words:find("^%-") then sections[2] = { title = "OPTIONS" } end
      local head, rest = words:match("^(.-)%s%s+(.+)$")
      add { head = head or words, text = rest or "" }
    elseif part then
      part.text = part.text .. (part.text == "" and "" or "\n") .. words
    else
      add { text = words }
    end
  end
  return sections
end

-- The lines below "usage:", and the rest of a help text. A page with the lines of several subcommands gets only its
-- own.
local function split(text, name)
  local lines, rest = {}, {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local words = (#rest == 0 and line:match("^usage: (.*)$") or #rest == 0 and line:match("^ +(actorhost .*)$"))
    if words then lines[#lines + 1] = words else rest[#rest + 1] = line end
  end
  local own = {}
  for _, line in ipairs(lines) do
    local subcommand = line:match("^actorhost (%l+)")
    if #lines == 1 or (subcommand or "run") == name then own[#own + 1] = line:match("^(.-)%s%s+.*$") or line end
  end
  return own, table.concat(rest, "\n")
end

---Returns the name of a subcommand's page.
---@param name string
---@return string
function M.name(name) return name == "run" and "actorhost" or "actorhost-" .. name end

---Returns a subcommand's manual page in roff.
---@param name string "sim"; "run": the page of the program
---@param text string its `--help`
---@param commands string[][] {name, words, purpose} of each subcommand
---@param version string
---@param date string "2026-11-30"
---@return string
function M.page(name, text, commands, version, date)
  local title, out, purposes, others = M.name(name), {}, {}, {}
  local function line(format, ...) out[#out + 1] = select("#", ...) > 0 and format:format(...) or format end
  for _, command in ipairs(commands) do
    purposes[command[1]] = command[3]
    if command[1] ~= name then others[#others + 1] = ("\\fB%s\\fR(1)"):format(escaped(M.name(command[1]))) end
  end
  line('.TH %s 1 "%s" "actorhost %s" "User Commands"', title:upper(), date, version)
  line(".nh\n.ad l") -- words as they are typed, without hyphens
  line(".SH NAME\n%s \\- %s", escaped(title), escaped(name == "run" and "run distributed jobs written in Lua" or purposes[name]))
  local usage, rest = split(text, name)
  line(".SH SYNOPSIS")
  for i, words in ipairs(usage) do
    local program, arguments = words:match("^(actorhost%s%l+)%s?(.*)$")
    if not program then program, arguments = words:match("^(%S+)%s?(.*)$") end
    line("%s\\fB%s\\fR %s", i > 1 and ".br\n" or "", escaped(program), escaped(arguments))
  end
  for _, section in ipairs(sections_of(rest)) do
    if #section > 0 then line(".SH %s", escaped(section.title)) end
    for _, part in ipairs(section) do
      line(part.head and ".TP\n%s\n%s" or ".PP\n%s%s", part.head and head_of(part.head) or "", escaped(part.text))
    end
    if name == "run" and section.title == "DESCRIPTION" then
      line(".SH COMMANDS")
      for _, command in ipairs(commands) do
        line(".TP\n\\fBactorhost %s\\fR\n%s", escaped(command[2]), escaped(command[3]))
      end
    end
  end
  line(".SH SEE ALSO\n%s", table.concat(others, ",\n"))
  return (table.concat(out, "\n"):gsub("(%.SH [^\n]+)\n%.PP\n", "%1\n"))
end

return M
