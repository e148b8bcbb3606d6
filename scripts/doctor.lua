-- actorhost doctor [--json]: checks this machine as a run would, and recommends what to do about each finding. Exit
-- code 1 if a problem prevents runs.
local actor = require("actor")
local doctor = require("actor.c.doctor")
local flags = require("actor.flags")
local util = require("actor.util")

local known = {
  { name = "json", help = "one JSON object instead of text" },
  { name = "token-file", value = "FILE", help = "the token to check, as for a run (the default file)" },
  { name = "help", help = "this page" },
}
local columns = 80
local dashboard_port = 8787
local findings = {}

-- Adds a finding. `todo` recommends what to do; `state` is "ok", "note" (matters to some users only) or "problem".
local function find(state, name, text, todo)
  findings[#findings + 1] = { state = state, name = name, text = text, todo = todo }
end

local function size(bytes)
  local unit = 1
  while bytes >= 1024 and unit < 5 do bytes, unit = bytes / 1024, unit + 1 end
  return (unit == 1 and "%d %s" or "%.1f %s"):format(bytes, ({ "bytes", "KiB", "MiB", "GiB", "TiB" })[unit])
end

-- ---- checks ----

local built = doctor.built()
local values

local function versions()
  local compiled, features = jit.status(), { select(2, jit.status()) }
  find("ok", "version", ("actorhost %s, %s, %s, %s"):format(actor.version, jit.version, built.libraries, built.compiler))
  if compiled then
    find("ok", "JIT", "on: " .. table.concat(features, " "))
  else
    find("problem", "JIT", "off: Lua runs 10 to 100 times slower", "use a LuaJIT that is built for this CPU")
  end
end

local function processor()
  local used, has = doctor.kernels()
  local model = (util.read("/proc/cpuinfo") or ""):match("model name%s*:%s*([^\n]+)") or jit.arch
  local wanted = os.getenv("ACTORHOST_ISA")
  local text = ("%s; kernels in use: %s, this machine has: %s"):format(model, used, has)
  if wanted and wanted ~= used then
    find("problem", "processor", text .. (", ACTORHOST_ISA asks for '%s'"):format(wanted),
      "unset ACTORHOST_ISA or set it to one of: " .. has)
  elseif wanted then
    find("note", "processor", text .. " (chosen by ACTORHOST_ISA)",
      "unset ACTORHOST_ISA for the fastest; a run's hosts need the same kernels for the same bits")
  else
    find("ok", "processor", text)
  end
end

local function cores()
  local may = doctor.allowance()
  local text = ("%d; -n auto starts that many nodes"):format(may.cores)
  if may.cores_limit then
    text = ("%d of the machine's %d (limit: %s); -n auto starts that many nodes"):format(may.cores, may.machine_cores, may.cores_limit)
  end
  find("ok", "cores", text)
end

local function memory()
  local info = util.read("/proc/meminfo") or ""
  local may = doctor.allowance()
  local free = (tonumber(info:match("MemAvailable:%s*(%d+)")) or 0) * 1024
  local text = ("%s, %s available"):format(size(may.machine_memory), size(free))
  if may.memory_limit then text = text .. ("; %s allows %s"):format(may.memory_limit, size(may.memory)) end
  if math.min(may.memory, free) < 512 * 2 ^ 20 then
    find("note", "memory", text, "a host with two nodes takes 110 MB besides its data; give --memory SIZE and a small -n")
  else
    find("ok", "memory", text)
  end
end

-- A limit of this process: a problem below `least`, a note below `fair`.
local function limit(kind, name, least, fair, option)
  local soft, hard = doctor.limit(kind)
  local text = soft == math.huge and "no limit" or ("%d"):format(soft)
  if soft ~= hard then text = text .. (hard == math.huge and ", may be raised" or (", may be raised to %d"):format(hard)) end
  local state = soft < least and "problem" or soft < fair and "note" or "ok"
  local todo = state ~= "ok" and ("run: ulimit %s %d%s"):format(option, fair,
    hard < fair and " (the hard limit is lower: ask the administrator)" or "")
  find(state, name, text, todo or nil)
end

local function limits()
  limit("files", "open files", 64, 1024, "-n")
  limit("processes", "processes", 64, 1024, "-u")
  local soft = doctor.limit("address_space")
  if soft < math.huge then
    find(soft < 2 ^ 31 and "problem" or "note", "address room", size(soft) .. " for each process",
      "run: ulimit -v unlimited; a process reserves much more than it uses")
  else
    find("ok", "address room", "no limit")
  end
end

local function placement()
  local text, host = doctor.placement()
  if text then
    find("ok", "place", text)
    if not doctor.has_address("localhost") then
      find("note", "names", "this machine knows no 'localhost'", "add the line '127.0.0.1 localhost' to /etc/hosts")
    end
    local known, why = doctor.has_address(host or "127.0.0.1")
    if not known then
      find("problem", "names", ("the rendezvous of the run is '%s', but this machine has no address for it: %s"):format(host, why),
        "give --rdzv-endpoint an address, or add the name to /etc/hosts")
    end
  else
    find("problem", "place", host, "flags of a run come before the variables; scripts/CLUSTERS.md has each launcher's")
  end
end

local function port(number, what, flag)
  local free, message, owner = doctor.port(number)
  if free then return find("ok", "port " .. number, "free: " .. what) end
  local text = ("%s: %s%s"):format(what, message, owner and ", " .. owner or "")
  find("note", "port " .. number, text, flag)
end

local function ports()
  port(built.port, "the rendezvous of a Kubernetes job, and of CLUSTERS.md", "give --rdzv-endpoint HOST:PORT another port")
  port(dashboard_port, "the page of --dashboard and --metrics", "give --dashboard HOST:PORT another port")
end

local function ago(seconds)
  if seconds < 120 then return ("%d seconds"):format(seconds) end
  if seconds < 7200 then return ("%d minutes"):format(seconds / 60) end
  if seconds < 2 * 86400 then return ("%d hours"):format(seconds / 3600) end
  return ("%d days"):format(seconds / 86400)
end

local function token()
  local path, missing = values["token-file"], nil
  if not path then path, missing = doctor.token_path() end
  if not path then return find("problem", "token", missing, "set HOME, or give --token-file FILE") end
  local file = doctor.file(path)
  if not file then
    if values["token-file"] then return find("problem", "token", path .. " is not there", "make it, or leave out --token-file") end
    return find("ok", "token", path .. " does not exist yet; the first run that needs a token makes it")
  end
  local text = ("%s, mode %s, of user %d, %s old"):format(path, file.mode, file.owner, ago(file.age))
  local works, message = doctor.token_works(path)
  if works then return find("ok", "token", text .. "; all hosts of a run need the same one") end
  find("problem", "token", message:find(path, 1, true) and message or text .. ": " .. message,
    "chmod 600 FILE where it is yours; else remove it, or give --token-file")
end

local function sockets()
  local folder, message = doctor.run_folder()
  if folder then return find("ok", "sockets", folder .. ": here `actorhost status` and the like find the runs of this machine") end
  find("problem", "sockets", message, "repair that, or set XDG_RUNTIME_DIR to a folder of yours; else runs cannot be observed")
end

local function clock()
  local resolution, wall = doctor.clock()
  local text = ("steady clock with a resolution of %d ns; it is %s UTC"):format(resolution * 1e9, os.date("!%Y-%m-%d %H:%M:%S", wall))
  if wall < 1735689600 then
    return find("problem", "clock", text, "set the time (timedatectl): certificates and file times depend on it")
  end
  if resolution > 1e-6 then
    return find("note", "clock", text, "a steady clock this coarse makes measured times coarse: see the kernel's clock source")
  end
  find("ok", "clock", text .. " (another machine's may differ: runs do not depend on it)")
end

-- Checks a library that is loaded on demand.
local function library(name, file, package, purpose)
  if doctor.loads(file) then return find("ok", name, "there: " .. purpose) end
  find("note", name, "missing: " .. purpose, "apt-get install " .. package)
end

local function libraries()
  library("libcurl", "libcurl.so.4", "libcurl4", "files from http://, https:// and s3://")
  library("librsvg", "librsvg-2.so.2", "librsvg2-2", "plots as PNG")
  library("md4c", "libmd4c-html.so.0", "libmd4c-html0", "the pages of `actorhost help --html`")
  library("libedit", "libedit.so.2", "libedit2", "line editing in actorhost repl")
  library("libmicrohttpd", "libmicrohttpd.so.12", "libmicrohttpd12", "--dashboard and --metrics")
end

local function scratch()
  local folder = os.getenv("TMPDIR")
  if not folder or folder == "" then folder = "/tmp" end
  local bytes, message = doctor.free_bytes(folder)
  if not bytes then
    return find("problem", "TMPDIR", ("%s: %s"):format(folder, message), "set TMPDIR to a folder that you may write to")
  end
  local text = ("%s, %s free"):format(folder, size(bytes))
  if bytes < 2 ^ 30 then
    return find(bytes < 2 ^ 24 and "problem" or "note", "TMPDIR", text,
      "set TMPDIR to a larger disk: map-reduce stores data there that does not fit in memory")
  end
  find("ok", "TMPDIR", text)
end

-- ---- output ----

local mark = { ok = "ok", note = "note", problem = "PROBLEM" }
local indent = 23

local function wrapped(text) return flags.wrapped(text, columns - indent, indent) end

local function count(state)
  local n = 0
  for _, finding in ipairs(findings) do n = n + (finding.state == state and 1 or 0) end
  return n
end

local function as_json()
  local out, quoted = {}, doctor.quoted
  for i, finding in ipairs(findings) do
    out[i] = ('{"name":%s,"state":%s,"text":%s%s}'):format(quoted(finding.name), quoted(finding.state),
      quoted(finding.text), finding.todo and ',"todo":' .. quoted(finding.todo) or "")
  end
  return ('{"host":%s,"problems":%d,"notes":%d,"findings":[%s]}'):format(quoted(built.host), count("problem"),
    count("note"), table.concat(out, ","))
end

local function as_text()
  local out = { ("This machine is %s, you are user %d."):format(built.host, built.user), "" }
  for _, finding in ipairs(findings) do
    out[#out + 1] = ("%-8s %-13s %s"):format(mark[finding.state], finding.name, wrapped(finding.text))
    if finding.todo then out[#out + 1] = (" "):rep(indent) .. wrapped("to do: " .. finding.todo) end
  end
  local problems, notes = count("problem"), count("note")
  local word = problems == 0 and "Nothing prevents a run here" or problems == 1 and "One problem" or problems .. " problems"
  out[#out + 1] = ("\n%s%s."):format(word, notes == 0 and "" or notes == 1 and "; one note" or ("; %d notes"):format(notes))
  return table.concat(out, "\n")
end

local function main()
  local rest, fail
  values, rest, fail = flags.command("doctor", known,
    "usage: actorhost doctor [flags]    checks this machine and recommends what to do\n")
  if not values then return rest end
  if #rest > 0 then return fail(2, ("it takes no '%s'\nrun 'actorhost doctor --help' for the flags"):format(rest[1])) end
  for _, run_check in ipairs { versions, processor, cores, memory, limits, placement, ports, token, sockets, clock, scratch, libraries } do run_check() end
  print(values.json and as_json() or as_text())
  return count("problem") > 0 and 1 or 0
end

return main()
