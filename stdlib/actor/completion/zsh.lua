--- The completion script of zsh.
local completion = require("actor.completion")

local template = [=[
#compdef actorhost
# Completion of actorhost for zsh, made by: actorhost help --completion zsh

# Adds words; a word that ends in a colon continues.
_actorhost_words() {
  local word
  for word; do
    if [[ $word == *: ]]; then compadd -S '' -- $word; else compadd -- $word; fi
  done
}

_actorhost_lua_files() { _files -g '*.lua(-.)' }

@FUNCTIONS@
_actorhost() {
  local -a commands
  commands=(
@COMMANDS@  )
  case $CURRENT:$words[2] in
    2:-*) _actorhost_run ;;
    2:*) _describe -t commands subcommand commands; _actorhost_lua_files ;;
    *:(@NAMES@)) local name=$words[2]; shift words; (( CURRENT-- )); _actorhost_$name ;;
    *) _actorhost_run ;;
  esac
}

_actorhost "$@"
]=]

-- The text of an explanation or a message within a specification.
local function escaped(text) return (text:gsub("[%[%]:\\]", "\\%0")) end

-- The code that completes the value of a flag.
local function action(flag)
  local out = {}
  if #flag.words > 0 then out[1] = "_actorhost_words " .. table.concat(flag.words, " ") end
  local paths = { file = "_files", folder = "_files -/", rule = "_actorhost_lua_files" }
  out[#out + 1] = paths[flag.paths]
  return #out > 0 and ("{%s}"):format(escaped(table.concat(out, "; "))) or " "
end

local function specification(flag)
  local names, value = {}, ""
  for i, name in ipairs(flag.names) do
    names[i] = name .. (flag.value and (name:find("^%-%-") and "=" or "+") or "")
  end
  if flag.value then value = (flag.optional and "::%s:%s" or ":%s:%s"):format(escaped(flag.value), action(flag)) end
  local text = completion.quoted(("[%s]%s"):format(escaped(flag.help), value))
  if #names == 1 then return completion.quoted("*" .. names[1]) .. text end
  return ("'*'{%s}%s"):format(table.concat(names, ","), text)
end

---@param commands actor.completion.Command[]
---@param topics string[]
---@return string
return function(commands, topics)
  local functions, described = {}, {}
  local operands = {
    job = "'1:job:_actorhost_lua_files' '*:argument of the job:_files'", rule = "'*:rule:_actorhost_lua_files'",
    topic = completion.quoted("1:name:(" .. table.concat(topics, " ") .. ")"),
  }
  for i, command in ipairs(commands) do
    local lines = { ("_actorhost_%s() {\n  _arguments -S%s"):format(command.name,
      command.operand == "job" and " -A '-*'" or "") }
    for _, flag in ipairs(command.flags) do lines[#lines + 1] = "    " .. specification(flag) end
    lines[#lines + 1] = operands[command.operand] and "    " .. operands[command.operand]
    functions[i] = table.concat(lines, " \\\n") .. "\n}\n"
    described[i] = ("    %s\n"):format(completion.quoted(command.name .. ":" .. command.purpose))
  end
  local parts = {
    FUNCTIONS = table.concat(functions, "\n"), COMMANDS = table.concat(described),
    NAMES = table.concat(completion.each(commands, "name"), "|"),
  }
  return (template:gsub("@(%u+)@", parts))
end
