--- The completion script of bash.
local completion = require("actor.completion")

local template = [=[
# Completion of actorhost for bash, made by: actorhost help --completion bash

# Sets the words and the paths that may follow the flag $2 of the subcommand $1; fails for a switch.
_actorhost_value() {
  words= paths= optional=
  case "$1 $2" in
@VALUES@    *) return 1 ;;
  esac
}

# Adds the words of $1 that begin with $2, and paths of the kind $3.
_actorhost_add() {
  local found
  while IFS= read -r found; do
    COMPREPLY+=("$found")
    [[ $found == *: ]] && compopt -o nospace
  done < <(compgen -W "$1" -- "$2")
  [[ -n $3 ]] || return 0
  compopt -o filenames
  while IFS= read -r found; do
    [[ $3 == file || -d $found || $found == *.lua && $3 != folder ]] && COMPREPLY+=("$found")
  done < <(compgen -f -- "$2")
}

_actorhost() {
  local command=run at=1 i value= flag= words paths optional line=${COMP_LINE:0:COMP_POINT}
  local -a typed
  COMPREPLY=()
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  local last=$((${#typed[@]} - 1)) behind=0
  local current=${typed[last]}
  if ((last > 1)); then
    case ${typed[1]} in
      @COMMANDS@) command=${typed[1]} at=2 ;;
    esac
  fi
  for ((i = at; i < last; i++)); do
    if [[ -n $flag ]]; then
      flag=
      [[ -n $optional && ( ${typed[i]} == -* || ${typed[i]} == *.lua ) ]] || continue
    fi
    case ${typed[i]} in
      -*=*) ;;
      -?*) _actorhost_value "$command" "${typed[i]}" && flag=${typed[i]} ;;
      *) behind=$((behind + 1)) ;;
    esac
  done
  if ((behind > 0)) && [[ ' @JOBS@ ' == *" $command "* ]]; then
    _actorhost_add '' "$current" file # an argument of the job
    return
  fi
  if [[ -z $flag && $current == --*=* ]]; then
    flag=${current%%=*} value=${current#*=}
    _actorhost_value "$command" "$flag" || return
    # Where = separates words, readline replaces only the value.
    _actorhost_add "$words" "$value" "$paths"
    [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/$flag=}")
    return
  fi
  if [[ -n $flag ]]; then
    _actorhost_add "$words" "$current" "$paths"
    [[ -n $optional ]] || return 0
  fi
  case $command in
@FLAGS@  esac
  if [[ $current == -* ]]; then
    _actorhost_add "$words" "$current" ''
    return
  fi
  ((at == 1)) && [[ -z $flag ]] && ((last == 1)) && _actorhost_add '@NAMES@' "$current" ''
  case $command in
    @JOBCASE@) _actorhost_add '' "$current" rule ;;
@OPERANDS@  esac
}
complete -F _actorhost actorhost
]=]

---@param commands actor.completion.Command[]
---@param topics string[]
---@return string
return function(commands, topics)
  local values, lists, operands, jobs = {}, {}, {}, {}
  for _, command in ipairs(commands) do
    local names = {}
    for _, flag in ipairs(command.flags) do
      local patterns = {}
      for i, name in ipairs(flag.names) do
        patterns[i] = ("'%s %s'"):format(command.name, name)
        names[#names + 1] = name
      end
      if flag.value then
        values[#values + 1] = ("    %s)%s%s%s ;;\n"):format(table.concat(patterns, " | "),
          #flag.words > 0 and (" words='%s'"):format(table.concat(flag.words, " ")) or "",
          flag.paths and " paths=" .. flag.paths or "", flag.optional and " optional=1" or "")
      end
    end
    lists[#lists + 1] = ("    %s) words='%s' ;;\n"):format(command.name, table.concat(names, " "))
    if command.operand == "job" then jobs[#jobs + 1] = command.name end
    if command.operand == "rule" then
      operands[#operands + 1] = ("    %s) _actorhost_add '' \"$current\" rule ;;\n"):format(command.name)
    elseif command.operand == "topic" then
      operands[#operands + 1] = ("    %s) _actorhost_add '%s' \"$current\" '' ;;\n"):format(command.name, table.concat(topics, " "))
    end
  end
  local names = completion.each(commands, "name")
  local parts = {
    VALUES = table.concat(values), FLAGS = table.concat(lists), OPERANDS = table.concat(operands),
    COMMANDS = table.concat(names, " | "), NAMES = table.concat(names, " "),
    JOBS = table.concat(jobs, " "), JOBCASE = table.concat(jobs, " | "),
  }
  return (template:gsub("@(%u+)@", parts))
end
