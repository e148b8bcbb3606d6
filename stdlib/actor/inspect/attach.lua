--- Finds a run and attaches to it: for `status`, `top` and `repl`.
local control = require("actor.c.control")
local text = require("actor.inspect.text")

local M = {}

--- The flags of a subcommand that attaches to a run.
---@type actor.flags.Flag[]
M.flags = {
  { name = "attach", value = "RUN", alone = "",
    help = "a run of this machine by its job's name, its id (--rdzv-id) or its process; or a run's rendezvous address HOST:PORT or control socket; default: the run of this machine" },
  { name = "token-file", value = "FILE", help = "the token that the run was started with, if not the default token; or its reading token" },
  { name = "tls-ca", value = "FILE", help = "the CA certificates, for a run over TLS" },
  { name = "insecure", help = "the run was started with --insecure" },
}

-- The runs of this machine as lines of text.
local function list(runs)
  local lines = {}
  for i, run in ipairs(runs) do
    lines[i] = ("  %s  process %d, for %s: --attach %s"):format(run.job, run.pid, text.seconds(os.time() - run.started), run.url)
  end
  return table.concat(lines, "\n")
end

-- Whether a run has this process, this id, or this job, whose name may lack ".lua".
local function is_named(run, word)
  return tostring(run.pid) == word or run.id == word or run.job == word or run.job == word .. ".lua"
end

---Finds the run of this machine that a word names: a job, an id or a process; without a word, the only run.
---@param word? string
---@return table? run {url=, job=, ...}; nil, without a message, if the word may be an address
---@return string? message
function M.find(word)
  local runs, wrong = control.find()
  if not runs then return nil, not word and wrong or nil end
  local found = {}
  for _, run in ipairs(runs) do
    if not word or is_named(run, word) then found[#found + 1] = run end
  end
  if #found == 1 then return found[1] end
  if #found > 1 then
    return nil, ("several runs%s are in progress on this machine; choose one:\n%s"):format(word and " named " .. word or "", list(found))
  end
  if not word then
    return nil, "no run of yours is in progress on this machine; start one with `actorhost job.lua`, or give its rendezvous address with --attach HOST:PORT"
  end
  if not word:find("^%d+$") and not word:find("%.lua$") then return nil end
  return nil, ("no run of yours on this machine %s %s%s"):format(word:find("%.lua$") and "has the job" or "is process", word,
    #runs > 0 and "; these are in progress:\n" .. list(runs) or "; none is in progress")
end

--- Attaches as the flags direct; without a name or an address, to the only run of this machine.
---@param values table the flags' values
---@param options? {read_only?: boolean, timeout?: number}
---@return table? connection
---@return table|string run {url=, job=}, or an error with its remedy
function M.attach(values, options)
  local word = values.attach ~= "" and values.attach or nil
  local run, why = M.find(word)
  if not run then
    if why then return nil, why end
    run = { url = word }
  end
  local connection, wrong = control.attach(run.url, {
    token_file = values["token-file"] or run.token_file, insecure = values.insecure or run.insecure,
    tls_ca = values["tls-ca"], read_only = options and options.read_only, timeout = options and options.timeout,
  })
  if connection then return connection, run end
  local hint = wrong:find("differs from ours", 1, true) and "; give the run's own with --token-file" or ""
  if word and not word:find("[:/]") then hint = hint .. "; and no run of yours on this machine has this name" end
  return nil, ("cannot attach to %s: %s%s"):format(run.url, wrong, hint)
end

return M
