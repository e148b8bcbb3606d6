--- Words for shells: the command by which `actorhost launch` reaches a host.
local M = {}

---Quotes a text as one word of a POSIX shell. The shells csh and fish read the same word if it has no exclamation mark.
---@param text string
---@return string
function M.quoted(text)
  if text:find("^[%w_./:=,@%%+-]+$") then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

---Joins words to a line that a shell reads as these words.
---@param words string[]
---@return string
function M.line(words)
  local out = {}
  for i, word in ipairs(words) do out[i] = M.quoted(word) end
  return table.concat(out, " ")
end

---Splits a line into words at spaces; quotes keep spaces, as in a shell.
---@param line string
---@return string[]? words
---@return string? message
function M.words(line)
  local words, word, at = {}, nil, 1
  while at <= #line do
    local char = line:sub(at, at)
    if char:find("%s") then
      words[#words + 1], word = word, nil
    elseif char == "'" or char == '"' then
      local close = line:find(char, at + 1, true)
      if not close then return nil, ("%s has no closing %s"):format(line, char) end
      word, at = (word or "") .. line:sub(at + 1, close - 1), close
    else
      word = (word or "") .. char
    end
    at = at + 1
  end
  words[#words + 1] = word
  return words
end

-- Options of OpenSSH. ssh uses the first value that it finds for an option, so options of --ssh override these. A
-- question for a password would wait for a user, on several hosts at once.
local options = { "-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15" }

---The command that starts the far side of `launch` on a host.
---@param shell string[] the words of --ssh
---@param host actor.launch.Host
---@param program? string its path there; nil: this program's path, or else actorhost in PATH
---@param here string this program's path
---@return string[] words
function M.command(shell, host, program, here)
  local words = { unpack(shell) }
  if words[1]:match("[^/]*$") == "ssh" then
    for _, word in ipairs(options) do words[#words + 1] = word end
  end
  if host.port then
    words[#words + 1] = "-p"
    words[#words + 1] = tostring(host.port)
  end
  words[#words + 1] = host.target
  local start = program and ("exec %s launch --far-side"):format(M.quoted(program))
    or ("p=%s; test -x \"$p\" || p=actorhost; exec \"$p\" launch --far-side"):format(M.quoted(here))
  words[#words + 1] = "exec sh -c " .. M.quoted(start)
  return words
end

return M
