--- The console in a terminal: shows a prompt, reads lines, joins them into chunks, completes words, and saves the
--- history.
local chunk = require("actor.console.chunk")
local command = require("actor.c.command")
local commands = require("actor.console.commands")
local complete = require("actor.console.complete")
local tokens = require("actor.console.tokens")

local M = {}

local reply_seconds = 1 -- the longest wait of the Tab key for the node's reply
local names_chunk = [[local word, words = require("actor.console.complete").at(%q)
return word .. "\n" .. table.concat(words, "\n")]]

-- Returns the last word of a Lua text, and the words that complete it. The node that runs chunks completes the word,
-- because it knows the script's variables. If it does not reply in time, only the library's names complete the word.
local function lua_words(session, before)
  local reply = session:query(names_chunk:format(before), reply_seconds)
  if not reply then return complete.at(before) end
  local word, rest = reply:match("^([^\n]*)\n(.*)$")
  local words = {}
  for each in (rest or ""):gmatch("[^\n]+") do words[#words + 1] = each end
  return word or "", words
end

---Handles the Tab key. Returns the text to insert, and the choices to list.
---@param session actor.console.Session
---@param before string the line up to the cursor
---@return string insert
---@return string list
function M.completion(session, before)
  local columns = math.max(20, command.status_columns())
  if before:find("^%s*:") then
    local word, words, lua = commands.complete(session, before:match("^%s*(.*)$"))
    if not lua then return complete.choice(word, words, columns, "/") end
    before = lua
  end
  local word, words = lua_words(session, before)
  return complete.choice(word, words, columns)
end

local function prompt_of(session)
  local run = session.last.run
  return ("%s%s[%d] %s> "):format(run.paused and "paused " or "", run.job, run.size, session:place())
end

-- Saves an input in the history, as one line. Shows the first failure.
local function remember(editor, session, source)
  local saved, why = editor:remember(tokens.one_line(source))
  if not saved and not session.history_failed then
    session.history_failed = true
    session.fail(why)
  end
end

local local_hint = "(%s ends with this input: leave out `local` and it lives on)"

---Reads lines and runs chunks and commands until the session is over.
---@param session actor.console.Session
---@param editor table from actor.c.line_editor, or {read=, remember=} for a plain terminal
function M.run(session, editor)
  local pending
  while not (session.ended or session.left or session.detached) do
    if not pending and not session:state() then break end
    local prompt = pending and (" "):rep(#prompt_of(session) - 3) .. ">> " or prompt_of(session)
    local line, how = editor:read(prompt, function(before) return M.completion(session, before) end,
      function() return session:idle() end)
    if how == "interrupt" then
      pending = nil
    elseif how then
      break -- the end of input, or of the run
    elseif not pending and line:find("^%s*:") then
      remember(editor, session, line)
      commands.run(session, line)
    else
      local source = pending and pending .. "\n" .. line or line
      local loaded, _, open = chunk.load(source)
      pending = not loaded and open and source or nil
      if not pending and source:find("%S") then
        remember(editor, session, source)
        session:chunk(source)
        local name = loaded and not session.local_hint_shown and chunk.lone_local(source)
        if name then
          session.local_hint_shown = true
          session.show(local_hint:format(name))
        end
      end
    end
  end
end

return M
