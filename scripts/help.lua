-- actorhost help [TOPIC|NAME]: docstrings of the standard library, flags, variables, subcommands.
local actor = require("actor")
local barrier = require("actor.barrier")
local command = require("actor.c.command")
local core = require("actor.c.core")
local help = require("actor.help")
local spelling = require("actor.c.names")

local usage = "usage: actorhost help [TOPIC|NAME]    param.run, dataset:map, barrier.pssp, --barrier, ACTORHOST_ISA, mapreduce, sim"

-- What `actorhost NAME --help` prints, of subcommands that are scripts.
local function page_of(name)
  local lines = {}
  local show, args = print, actor.args
  rawset(_G, "print", function(text) lines[#lines + 1] = text end)
  actor.args = { "--help" }
  load(core.library_text("command/" .. name), "@scripts/" .. name .. ".lua")()
  actor.args = args
  rawset(_G, "print", show)
  return table.concat(lines, "\n")
end

local page_names = { "run", "agent", "status", "top", "repl", "sim" }

local function pages()
  local shown = { run = command.usage("run"), agent = command.usage("agent") }
  for _, name in ipairs(page_names) do shown[name] = shown[name] or page_of(name) end
  return shown
end

-- The lines about one flag or variable in a page, those that are indented further included.
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
  print("\nsubcommands: " .. table.concat(page_names, ", ") .. ", help\nmodules of the standard library, actor.NAME:")
  for _, topic in ipairs(help.topics()) do print(("  %-12s %s"):format(topic.name, topic.summary)) end
end

-- A flag or a variable, on each page that has it.
local function of_pages(name)
  local shown = pages()
  if shown[name] then
    print(shown[name])
    return true
  end
  local found = false
  for _, page in ipairs(page_names) do
    local text = name:find("^[%-A-Z]") and part_of(shown[page], name)
    if text then
      print(("actorhost %s:\n%s"):format(page, text))
      found = true
    end
  end
  return found
end

-- The barrier rules' own descriptions say more than their constructors.
local function of_rule(name)
  for _, rule in ipairs(barrier.list()) do
    if name:match("^barrier[.:](.*)$") == rule.name then
      print(("%s\n  %s\n  passes when %s\n  %s\n"):format(rule.usage, rule.summary, rule.definition, rule.paper))
    end
  end
end

-- Words as lines of at most 100 characters.
local function wrapped(words)
  local lines, size = {}, math.huge
  for _, word in ipairs(words) do
    if size + #word > 98 then lines[#lines + 1], size = " ", 1 end
    lines[#lines], size = lines[#lines] .. " " .. word, size + 1 + #word
  end
  return table.concat(lines, "\n")
end

local function main(name)
  if not name then
    overview()
    return 0
  end
  local found = of_pages(name)
  of_rule(name)
  for i, entry in ipairs(help.find(name)) do
    print((i > 1 and "\n" or "") .. help.text(entry))
    if entry.head and not entry.title:find(".", 1, true) and #help.contents(entry.module) > 0 then
      print("\n" .. wrapped(help.contents(entry.module)))
    end
    found = true
  end
  if found then return 0 end
  command.err(("actorhost help: there is nothing about '%s'%s\n%s"):format(name,
    spelling.suggestion(name:match("[%w_]+$") or name, help.names()), usage))
  return 2
end

return main(actor.args[1])
