-- actorhost help [TOPIC|NAME]: docstrings of the standard library, flags, variables, subcommands.
local actor = require("actor")
local barrier = require("actor.barrier")
local command = require("actor.c.command")
local core = require("actor.c.core")
local flags = require("actor.flags")
local help = require("actor.help")
local spelling = require("actor.c.names")

local usage = "usage: actorhost help [TOPIC|NAME]    param.run, dataset:map, barrier.pssp, param.Run, --barrier, ACTORHOST_ISA, mapreduce, sim"

-- The subcommands; the C++ subcommands first.
local function commands()
  local scripts = {}
  for name in pairs(core.library()) do scripts[#scripts + 1] = name:match("^command/(.+)$") end
  table.sort(scripts)
  return { "run", "agent", unpack(scripts) }
end

-- The --help page of a Lua subcommand.
local function page_of_script(name)
  local lines = {}
  local show, args = print, actor.args
  rawset(_G, "print", function(text) lines[#lines + 1] = text end)
  actor.args = { "--help" }
  local chunk = load(core.library_text("command/" .. name), ("@scripts/%s.lua"):format(name))
  chunk()
  actor.args = args
  rawset(_G, "print", show)
  return table.concat(lines, "\n")
end

-- The pages of `actorhost NAME --help`, by name.
local function pages()
  local out = {}
  for _, name in ipairs(commands()) do
    local in_cpp = name == "run" or name == "agent" or name == "rehearse"
    out[name] = in_cpp and command.usage(name) or name ~= "help" and page_of_script(name) or usage
  end
  return out
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

-- Prints the description of a barrier rule, which has more detail than its constructor.
local function of_rule(name)
  for _, rule in ipairs(barrier.list()) do
    if name:match("^barrier[.:](.*)$") == rule.name then
      print(("%s\n  %s\n  passes when %s\n  %s\n"):format(rule.usage, rule.summary, rule.definition, rule.paper))
    end
  end
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
      print("\n  " .. flags.wrapped(table.concat(help.contents(entry.module), " "), 97, 2))
      for _, name in ipairs(help.types(entry)) do
        for _, class in ipairs(help.find(name)) do print("\n" .. help.text(class)) end
      end
      if entry.related and #entry.related > 0 then
        print("\nalso: " .. flags.wrapped(table.concat(entry.related, ", "), 94, 6))
      end
    end
    found = true
  end
  if found then return 0 end
  command.err(("actorhost help: there is nothing about '%s'%s\n%s"):format(name,
    spelling.suggestion(name:match("[%w_]+$") or name, help.names()), usage))
  return 2
end

return main(actor.args[1])
