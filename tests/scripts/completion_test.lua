-- The completion of shells: each flag of each subcommand's --help is in each script, and the shells complete
-- subcommands, flags, values and files with it. Usage: luajit completion_test.lua PROGRAM. The test leaves out missing
-- shells.

local shell = dofile(arg[0]:match("^(.*)/") .. "/shell.lua")
local program = arg[1]

local output_of = shell.output_of

local function has(name) return (os.execute("command -v " .. name .. " >/dev/null")) == 0 end

local folder = output_of("mktemp -d"):match("%S+")
local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

local shells = { "bash", "zsh", "fish" }
local names = { "_actorhost.bash", "_actorhost", "actorhost.fish" } -- zsh loads a function from a file of its name

-- The flags of a subcommand's --help, and whether they take a value: {["--print"] = true, ["-n"] = true}.
local function flags_of(name)
  local flags, count = {}, 0
  for line in output_of(("'%s' %s --help"):format(program, name)):gmatch("[^\n]+") do
    local written, value = line:match("^  (%-%S+) ?(%S*)")
    for flag in (written or ""):gmatch("[^,]+") do flags[flag], count = value ~= "", count + 1 end
  end
  return flags, count
end

local function each_flag_is_known()
  local commands = output_of(("'%s' help"):format(program)):match("subcommands: ([^\n]+)")
  local total = 0
  for i, shell in ipairs(shells) do
    local script = output_of(("'%s' help --completion %s"):format(program, shell))
    write(names[i], script)
    for command in commands:gmatch("[%l]+") do
      local flags, count = flags_of(command)
      total = total + count
      for flag, takes_value in pairs(flags) do
        -- The lines of the subcommand in the script.
        local lines = script
        if shell == "zsh" then lines = assert(script:match("\n_actorhost_" .. command .. "%(%).-\n}\n")) end
        local found
        for line in lines:gmatch("[^\n]+") do
          local of_command = shell == "zsh" or shell == "bash" and line:find("^    " .. command .. "%) words=")
            or shell == "fish" and line:find("__actorhost_in " .. command .. "'", 1, true)
          local words = " " .. line:gsub("[^%w%-]", " "):gsub("%-%-", shell == "fish" and "" or "--") .. " "
          local word = shell == "fish" and flag:gsub("^%-%-", "l "):gsub("^%-", "s ") or flag
          if shell == "fish" then words = words:gsub(" %-(%l) ", " %1 ") end
          found = found or of_command and words:find(" " .. word .. " ", 1, true)
        end
        assert(found, ("%s: '%s %s' is missing"):format(shell, command, flag))
        if takes_value and shell == "bash" then
          assert(script:find(("'%s %s'"):format(command, flag), 1, true), ("bash: '%s %s' has no value"):format(command, flag))
        end
      end
    end
  end
  assert(total > 300, ("only %d flags"):format(total))
end

-- Each shell completes the lines in a folder with a script, a folder and a file. It prints "== " before the candidates
-- of each line, one a line.
local driver = {}

function driver.bash(lines)
  local text = { ("cd '%s/job' && . '%s/_actorhost.bash'\ncompopt() { :; }\n"):format(folder, folder) }
  for _, line in ipairs(lines) do
    text[#text + 1] = ("COMP_LINE=%q COMP_POINT=%d; _actorhost; echo '== '; printf '%%s\\n' \"${COMPREPLY[@]}\"\n"):format(line, #line)
  end
  return "bash", text
end

function driver.fish(lines)
  local text = { ("cd '%s/job'\nsource '%s/actorhost.fish'\n"):format(folder, folder) }
  for _, line in ipairs(lines) do text[#text + 1] = ("echo '== '\ncomplete -C %q\n"):format(line) end
  return "fish --no-config", text
end

-- zsh completes only at a prompt: in a terminal of its own, with a compadd that records its words.
function driver.zsh(lines)
  local text = { ([=[
zmodload zsh/zpty
out='%s/added'
zpty prompt zsh -f -i
send() { zpty -w prompt "$1" }
send "cd '%s/job'; fpath=('%s' \$fpath); autoload -U compinit; compinit -u -D; PS1=; LISTMAX=9999; unsetopt zle_bracketed_paste"
send 'compadd() { local -a added; [[ " $* " == *\ -[OAD]* ]] || { builtin compadd -O added "$@"; print -rl -- $added >>'$out' }; builtin compadd "$@" }'
send "capture() { zle complete-word; zle kill-buffer; print ended >>$out }; zle -N capture; bindkey '^X' capture; print re''ady"
zpty -r prompt text '*ready*'
complete() {
  rm -f $out
  zpty -w -n prompt "$1"$'\x18'
  repeat 300; do
    [[ -f $out && $(<$out) == *ended ]] && break
    zpty -r -t prompt text
    sleep 0.05
  done
  print '== '
  grep -v '^ended$' $out | sort -u
}
]=]):format(folder, folder, folder) }
  for _, line in ipairs(lines) do text[#text + 1] = ("complete %q\n"):format(line) end
  text[#text + 1] = "zpty -d prompt\n"
  return "zsh -f", text
end

-- The candidates of each line, as a set.
local function completed(shell, lines)
  local command, text = driver[shell](lines)
  write("driver", table.concat(text))
  local answers = {}
  for line in output_of(("HOME='%s' timeout 200 %s '%s/driver'; true"):format(folder, command, folder)):gmatch("[^\n]+") do
    if line == "== " then
      answers[#answers + 1] = {}
    else
      local word = line:match("^[^\t]*")
      local known = assert(answers[#answers], line)
      known[word], known[word .. "/"] = true, true -- bash adds the slash of a folder itself
    end
  end
  assert(#answers == #lines, ("%s: %d answers"):format(shell, #answers))
  return answers
end

-- Line, words among its candidates, words not among them.
local cases = {
  { "actorhost ", "sim rehearse job.lua more/", "notes.txt --seed" },
  { "actorhost re", "repl rehearse", "run sim" },
  { "actorhost --print ", "all first", "sim job.lua" },
  { "actorhost --log-level ", "trace warn off", "job.lua" },
  { "actorhost --log", "--log-level --log-format", "--seed" },
  { "actorhost -n 2 --res", "--resume --resample", "--seed" },
  { "actorhost --barrier ", "bsp pssp: job.lua", "notes.txt" },
  { "actorhost run --token-file ", "notes.txt job.lua", "bsp" },
  { "actorhost --checkpoint ", "more/", "notes.txt job.lua" },
  { "actorhost -n 2 job.lua ", "notes.txt", "sim --seed" },
  { "actorhost agent --", "--join --once --tls-ca", "--barrier" },
  { "actorhost rehearse --network ", "switch racks: notes.txt", "bsp" },
  { "actorhost sim --log ", "x y xy", "job.lua" },
  { "actorhost sim --plot ", "cdf accuracy", "job.lua" },
  { "actorhost status --sort ", "rank memory", "job.lua" },
  { "actorhost help map", "mapreduce", "notes.txt" },
  { "actorhost help --completion ", "bash zsh fish", "mapreduce" },
}

local function shells_complete()
  output_of(("mkdir -p '%s/job/more' && touch '%s/job/job.lua' '%s/job/notes.txt'"):format(folder, folder, folder))
  local left_out, lines = {}, {}
  for i, case in ipairs(cases) do lines[i] = case[1] end
  for _, shell in ipairs(shells) do
    if not has(shell) then
      left_out[#left_out + 1] = shell
    else
      local answers = completed(shell, lines)
      for i, case in ipairs(cases) do
        local line, wanted, unwanted = unpack(case)
        local all = {}
        for word in pairs(answers[i]) do all[#all + 1] = word end
        for word in wanted:gmatch("%S+") do
          assert(answers[i][word], ("%s: '%s' is not completed to '%s', but to:\n%s"):format(shell, line, word, table.concat(all, "\n")))
        end
        for word in unwanted:gmatch("%S+") do
          local shown = shell == "fish" and word == "notes.txt" -- fish lists all files where one is possible
          assert(shown or not answers[i][word], ("%s: '%s' is completed to '%s'"):format(shell, line, word))
        end
      end
    end
  end
  assert(completed("bash", { "actorhost --print=a" })[1].all, "bash: --print=a is not completed to all")
  return left_out
end

local fine, message = pcall(function()
  each_flag_is_known()
  local left_out = shells_complete()
  print("passed" .. (#left_out > 0 and "; not installed: " .. table.concat(left_out, ", ") or ""))
end)
os.execute(("rm -rf '%s'"):format(folder))
assert(fine, message)
