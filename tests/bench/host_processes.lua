-- Hosts as child processes of a benchmark, with signals and waits: require "host_processes".
local ffi = require "ffi"
local now = require "monotonic"
local C = ffi.C

ffi.cdef [[
int nanosleep(const monotonic_time *wanted, monotonic_time *left);
int fork(void);
int execvp(const char *file, const char *const *argv);
int open(const char *path, int flags, int mode);
int dup2(int from, int to);
int setenv(const char *name, const char *value, int overwrite);
int waitpid(int pid, int *status, int options);
int kill(int pid, int signal);
void _exit(int status);
int socket(int domain, int type, int protocol);
int bind(int fd, const void *address, unsigned size);
int getsockname(int fd, void *address, unsigned *size);
int close(int fd);
]]

-- `latest`: the largest delay of a sleep of this process, in seconds. It is large when the machine is overloaded.
local M = { now = now, signals = { kill = 9, go = 18, stop = 19 }, latest = 0 }

function M.sleep(seconds)
  local begin = now()
  C.nanosleep(ffi.new("monotonic_time", math.floor(seconds), (seconds % 1) * 1e9), nil)
  M.latest = math.max(M.latest, now() - begin - seconds)
end

function M.free_port()
  local address, size = ffi.new("uint8_t[16]", { 2, 0, 0, 0, 127, 0, 0, 1 }), ffi.new("unsigned[1]", 16)
  local fd = C.socket(2, 1, 0)
  assert(C.bind(fd, address, 16) == 0 and C.getsockname(fd, address, size) == 0)
  C.close(fd)
  return address[2] * 256 + address[3]
end

-- The text of a file, "" if the file does not exist.
function M.text_of(path)
  local file = io.open(path)
  if not file then return "" end
  local text = file:read("*a")
  file:close()
  return text
end

-- Polls the condition. Returns whether it held before the deadline.
function M.wait_until(condition, deadline)
  while not condition() do
    if now() > deadline then return false end
    M.sleep(0.002)
  end
  return true
end

-- The element at quantile q of a sorted list.
function M.quantile(sorted, q) return sorted[math.max(1, math.ceil(q * #sorted))] end

-- Parses the options "--NAME VALUE ..." of a command line from word `first` on, over the given defaults.
function M.options(words, first, options)
  for i = first, #words, 2 do
    options[words[i]:match("^%-%-(.+)")] = tonumber(words[i + 1]) or words[i + 1]
  end
  return options
end

---@class Host
---@field pid integer
---@field log string file of its output
---@field status? integer exit code, or 128 and the signal
---@field ended_at? number
local Host = {}
Host.__index = Host
M.Host = Host

-- Starts a command. Its settings and output are in `folder`, and `variables` extend its environment.
function Host.start(folder, i, words, variables)
  local argv = ffi.new("const char *[?]", #words + 1)
  for k, word in ipairs(words) do argv[k - 1] = word end
  local log = ("%s/host%d"):format(folder, i)
  local pid = C.fork()
  if pid == 0 then
    C.setenv("XDG_CONFIG_HOME", folder, 1)
    C.setenv("XDG_RUNTIME_DIR", folder, 1)
    for name, value in pairs(variables or {}) do C.setenv(name, value, 1) end
    local fd = C.open(log, 577, 420)
    C.dup2(fd, 1)
    C.dup2(fd, 2)
    C.execvp(words[1], argv)
    C._exit(127)
  end
  return setmetatable({ pid = pid, log = log, index = i }, Host)
end

function Host:signal(number) if not self:ended() then C.kill(self.pid, number) end end

-- The exit code, or 128 plus the signal; nil while the process runs.
function Host:ended()
  if self.status then return self.status end
  local status = ffi.new("int[1]")
  if C.waitpid(self.pid, status, 1) ~= self.pid then return nil end
  local signal = status[0] % 128
  self.status, self.ended_at = signal > 0 and 128 + signal or math.floor(status[0] / 256), now()
  return self.status
end

return M
