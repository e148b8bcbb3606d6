--- The completion script of fish.
local completion = require("actor.completion")

local template = [=[
# Completion of actorhost for fish, made by: actorhost help --completion fish

# Whether the command line begins with the subcommand $argv[1], and is not yet behind a job.
function __actorhost_in
    set -l words (commandline -opc)
    set -e words[1]
    set -l command run
    if set -q words[1]; and contains -- $words[1] @NAMES@
        set command $words[1]
        set -e words[1]
    end
    test $command = $argv[1]; or return 1
    contains -- $command @JOBS@; or return 0
    set -l flag
    for word in $words
        if test -n "$flag"
            set flag
            continue
        end
        switch $word
            case '-*=*'
            case '-*'
                contains -- $word @VALUED@; and set flag $word
            case '*'
                return 1
        end
    end
end

# Whether the next word is the first one.
function __actorhost_first
    test (count (commandline -opc)) = 1
end

@LINES@]=]

---@param commands actor.completion.Command[]
---@param topics string[]
---@return string
return function(commands, topics)
  local lines, jobs, valued, known = {}, {}, {}, {}
  local function line(...) lines[#lines + 1] = "complete -c actorhost " .. table.concat({ ... }, " ") .. "\n" end
  for _, command in ipairs(commands) do
    line("-n __actorhost_first -a", command.name, "-d", completion.quoted(command.purpose))
  end
  for _, command in ipairs(commands) do
    local within = ("-n '__actorhost_in %s'"):format(command.name)
    local is_job = command.operand == "job"
    if is_job then jobs[#jobs + 1] = command.name end
    if not command.operand then line(within, "-f") end
    if command.operand == "topic" then line(within, "-f -a", completion.quoted(table.concat(topics, " "))) end
    for _, flag in ipairs(command.flags) do
      local words = { within }
      for _, name in ipairs(flag.names) do
        words[#words + 1] = name:find("^%-%-") and "-l " .. name:sub(3) or "-s " .. name:sub(2)
        if is_job and flag.value and not flag.optional and not known[name] then
          known[name], valued[#valued + 1] = true, name
        end
      end
      local is_folder = flag.paths == "folder"
      if flag.value and not flag.optional then words[#words + 1] = flag.paths and not is_folder and "-r -F" or "-x" end
      local values = is_folder and "(__fish_complete_directories)" or table.concat(flag.words, " ")
      if values ~= "" then words[#words + 1] = "-a " .. completion.quoted(values) end
      words[#words + 1] = "-d " .. completion.quoted(flag.help)
      line(unpack(words))
    end
  end
  local parts = {
    LINES = table.concat(lines), NAMES = table.concat(completion.each(commands, "name"), " "),
    JOBS = table.concat(jobs, " "), VALUED = table.concat(valued, " "),
  }
  return (template:gsub("@(%u+)@", parts))
end
