-- actorhost help [NAME|WORDS]: docstrings of the standard library, flags, variables, subcommands, guides; the reference
-- as pages, manual pages and completion scripts.
local actor = require("actor")
local barrier = require("actor.barrier")
local merge = require("actor.merge")
local command = require("actor.c.command")
local completion = require("actor.completion")
local core = require("actor.c.core")
local files = require("actor.c.files")
local flags = require("actor.flags")
local guides = require("actor.help.guides")
local help = require("actor.help")
local manual = require("actor.manual")
local reference = require("actor.help.reference")
local search = require("actor.help.search")
local spelling = require("actor.c.names")

-- Beside these, --FLAG is the name of a subcommand's flag.
---@type actor.flags.Flag[]
local list = {
  { name = "html", value = "DIR", help = "write the reference and the guides as pages: DIR/index.html" },
  { name = "man", value = "COMMAND", help = "print the manual page of a subcommand; run: of the program" },
  { name = "completion", value = table.concat(completion.shells, "|"), help = "print the completion script of a shell" },
  { name = "help", short = "h", help = "this page" },
}

local usage = [[
usage: actorhost help [NAME|WORDS]    param.run, dataset:map, barrier.pssp, param.Run, --barrier, ACTORHOST_ISA, sim,
                                      or words such as: read a csv file]]

-- The subcommands; the C++ subcommands first.
local function commands()
  local scripts = {}
  for name in pairs(core.library()) do scripts[#scripts + 1] = name:match("^command/(.+)$") end
  table.sort(scripts)
  return { "run", "agent", unpack(scripts) }
end

local all_pages

-- The pages of `actorhost NAME --help`, by name.
local function pages()
  if all_pages then return all_pages end
  all_pages = {}
  for _, name in ipairs(commands()) do
    local in_cpp = name == "run" or name == "agent" or name == "rehearse"
    all_pages[name] = in_cpp and command.usage(name) or flags.of_command(name).page
  end
  return all_pages
end

-- The lines about one flag or variable in a page, including the further indented lines.
local function part_of(page, word)
  local out, column
  for line in (page .. "\n"):gmatch("(.-)\n") do
    local indent = #line:match("^%s*")
    if out and indent > column then
      out[#out + 1] = line
    elseif out then
      break
    elseif (" " .. line:gsub(",", " ") .. " "):find(" " .. word .. " ", 1, true) and line:find("^%s+[%-A-Z]") then
      out, column = { line }, indent
    end
  end
  return out and table.concat(out, "\n")
end

local function overview()
  print(usage)
  print(("\nsubcommands: %s\nmodules of the standard library, actor.NAME:"):format(table.concat(commands(), ", ")))
  for _, topic in ipairs(help.topics()) do print(("  %-12s %s"):format(topic.name, topic.summary)) end
  print("guides:")
  for _, guide in ipairs(guides.present()) do print(("  %-20s %s"):format(guide.name, guide.about)) end
end

-- Prints a flag or a variable from each page that has it.
local function of_pages(name)
  local shown = pages()
  if shown[name] then
    print(shown[name])
    return true
  end
  local found = false
  for _, page in ipairs(commands()) do
    local text = name:find("^[%-A-Z]") and part_of(shown[page], name)
    if text then
      print(("actorhost %s:\n%s"):format(page, text))
      found = true
    end
  end
  return found
end

-- Prints the description of a barrier rule or merge rule, which has more detail than its constructor.
local function of_rule(name)
  local module, rule_name = name:match("^(%a+)[.:](.*)$")
  local rules = ({ barrier = barrier, merge = merge })[module]
  for _, rule in ipairs(rules and rules.list() or {}) do
    if rule_name == rule.name then
      print(("%s\n  %s\n  %s%s\n  %s\n  example: --%s %s\n"):format(rule.usage, rule.summary,
        module == "barrier" and "passes when " or "", rule.definition, rule.paper, module, rule.example))
    end
  end
end

-- Prints the docstrings of a name; returns whether there are any.
local function of_docstrings(name)
  local found = help.find(name)
  for i, entry in ipairs(found) do
    print((i > 1 and "\n" or "") .. help.text(entry))
    if entry.head and not entry.title:find(".", 1, true) and #help.contents(entry.module) > 0 then
      print("\n  " .. flags.wrapped(table.concat(help.contents(entry.module), " "), 97, 2))
      for _, type in ipairs(help.types(entry)) do
        for _, class in ipairs(help.find(type)) do print("\n" .. help.text(class)) end
      end
      if entry.related and #entry.related > 0 then
        print("\nalso: " .. flags.wrapped(table.concat(entry.related, ", "), 94, 6))
      end
    end
  end
  return #found > 0
end

-- Prints a guide by its name; returns whether there is one.
local function of_guide(name)
  for _, guide in ipairs(guides.present()) do
    if guide.name == name then
      for i, section in ipairs(guides.sections(guide)) do
        local heading = ("#"):rep(section.level) .. " " .. (i == 1 and guide.title or section.heading)
        print(heading .. "\n\n" .. section.text .. "\n")
      end
      return true
    end
  end
  return false
end

-- Prints the best text about some words, and the titles of the next; returns whether there is any.
local function of_words(words)
  local found = search.find(reference.texts(pages()), words)
  local best = found[1]
  if not best then return false end
  if best.section then
    print(("%s (%s)\n\n%s"):format(best.section.heading, best.section.path, best.section.text))
  elseif best.entry then
    print(help.text(best.entry))
  else
    print(best.title .. "\n  " .. best.summary)
  end
  local others = {}
  for i = 2, math.min(#found, 7) do
    others[#others + 1] = ("  %-32s %s"):format(found[i].title, search.shortened(found[i].summary, 80))
  end
  if #others > 0 then print("\nalso:\n" .. table.concat(others, "\n")) end
  return true
end

-- Writes the reference into a folder.
local function html(dir, fail)
  local made, message = files.make_directory(dir)
  local count = 0
  for name, text in actor.pairs(made and reference.files(pages()) or {}) do
    made, message = files.replace(dir .. "/" .. name, text)
    if not made then break end
    count = count + 1
  end
  if not made then return fail(1, message) end
  print(("%d files; open %s/index.html"):format(count, dir))
  return 0
end

-- The subcommands for completion, and the names that `actorhost help` completes.
local function completed()
  local out, topics = {}, {}
  for i, texts in ipairs(command.commands()) do
    local name, words, purpose = unpack(texts)
    local native = command.flags(name)
    out[i] = { name = name, purpose = purpose, operand = completion.operand(words),
      flags = #native > 0 and completion.of_texts(native) or completion.of_list(flags.of_command(name).flags) }
    topics[i] = name
  end
  for _, topic in ipairs(help.topics()) do topics[#topics + 1] = topic.name end
  return out, topics
end

-- Today in UTC, or the date of SOURCE_DATE_EPOCH.
local function date() return os.date("!%Y-%m-%d", tonumber(os.getenv("SOURCE_DATE_EPOCH"))) end

-- Writes the reference, or prints a manual page or a completion script.
local function generated(values, rest, fail)
  if #rest > 0 then return fail(2, ("--html, --man and --completion take no further '%s'"):format(rest[1])) end
  if values.html then return html(values.html, fail) end
  if values.completion then
    print((completion.script(values.completion, completed())))
    return 0
  end
  local page = pages()[values.man]
  if not page then return fail(2, ("there is no subcommand '%s' (%s)"):format(values.man, table.concat(commands(), ", "))) end
  print(manual.page(values.man, page, command.commands(), actor.version, date()))
  return 0
end

-- Whether a word is one of the flags above.
local function is_own(word)
  for _, flag in ipairs(list) do
    if word:match("^%-%-([^=]+)") == flag.name or word == "-h" then return true end
  end
  return false
end

local function main(args)
  if args[1] and is_own(args[1]) then
    local values, rest, fail = flags.command("help", list, usage .. "\n")
    if not values then return rest end
    return generated(values, rest, fail)
  end
  if not args[1] then
    overview()
    return 0
  end
  local name = table.concat(args, " ")
  local found = of_pages(name)
  of_rule(name)
  found = of_docstrings(name) or found
  if found or of_guide(name) then return 0 end
  local is_name = not name:find("%s") and name:find("[.:%-_]")
  if not is_name and of_words(name) then return 0 end
  command.err(("actorhost help: there is nothing about '%s'%s\n%s"):format(name,
    spelling.suggestion(name:match("[%w_]+$") or name, help.names()), usage))
  return 2
end

return main(actor.args)
