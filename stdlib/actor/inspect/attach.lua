--- Finds a run and attaches to it: for `status`, `top` and `repl`.
local control = require("actor.c.control")
local text = require("actor.inspect.text")

local M = {}

--- The flags of a subcommand that attaches to a run.
---@type actor.flags.Flag[]
M.flags = {
  { name = "attach", value = "HOST:PORT", alone = "",
    help = "a run's rendezvous address or control socket; default: the run of this machine" },
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

--- Attaches as the flags direct; without an address, to the only run of this machine.
---@param values table the flags' values
---@param options? {read_only?: boolean, timeout?: number}
---@return table? connection
---@return table|string run {url=, job=}, or an error with its remedy
function M.attach(values, options)
  local run = { url = values.attach ~= "" and values.attach or nil }
  if not run.url then
    local runs, wrong = control.find()
    if not runs then return nil, wrong end
    if #runs == 0 then
      return nil, "no run of yours is in progress on this machine; start one with `actorhost job.lua`, or give its rendezvous address with --attach HOST:PORT"
    end
    if #runs > 1 then return nil, "several runs are in progress on this machine; choose one:\n" .. list(runs) end
    run = runs[1]
  end
  local connection, wrong = control.attach(run.url, {
    token_file = values["token-file"] or run.token_file, insecure = values.insecure or run.insecure,
    tls_ca = values["tls-ca"], read_only = options and options.read_only, timeout = options and options.timeout,
  })
  if connection then return connection, run end
  local hint = wrong:find("differs from ours", 1, true) and "; give the run's own with --token-file" or ""
  return nil, ("cannot attach to %s: %s%s"):format(run.url, wrong, hint)
end

return M
