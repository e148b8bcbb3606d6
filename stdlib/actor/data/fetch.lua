--- Files from the network, in a cache of this user: `data.fetch`, and the four files of MNIST from public mirrors.
local check = require("actor.check")
local c = require("actor.c.data")
local log = require("actor.log")
local util = require("actor.util")

local M = {}

local SILENT_SECONDS = 30
local REPORT_SECONDS = 10 -- without a terminal

---The files of MNIST with the SHA-256 sums of their unpacked content: mirrors differ in their packing.
M.mnist_sums = {
  ["train-images-idx3-ubyte"] = "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
  ["train-labels-idx1-ubyte"] = "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
  ["t10k-images-idx3-ubyte"] = "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
  ["t10k-labels-idx1-ubyte"] = "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

---Public mirrors of MNIST by name, in the order of the attempts. A mirror has each file with the suffix ".gz".
M.mnist_mirrors = {
  { "ossci", "https://ossci-datasets.s3.amazonaws.com/mnist/" },
  { "cvdf", "https://storage.googleapis.com/cvdf-datasets/mnist/" },
}

local function size_text(bytes)
  if bytes < 1e6 then return ("%.0f kB"):format(bytes / 1e3) end
  return ("%.1f MB"):format(bytes / 1e6)
end

-- The password of a URL is not shown.
local function shown(url) return (url:gsub("^(%a[%w+.-]*://)[^/@]*@", "%1")) end

-- A function that reports a download: by a bar on a terminal, else by a line of the log now and then.
local function reporter(url)
  local name = shown(url):match("([^/]+)/*$")
  local bar
  local now, progress = require("actor").now, require("actor.progress") -- here: a state without a node has no terminal
  local next_line = now() + REPORT_SECONDS
  return function(done, size, waits)
    if not waits and size then
      bar = bar or progress.new { total = size, label = name, any_rank = true }
      bar:update(done, ("%s of %s"):format(size_text(done), size_text(size)))
    end
    if now() < next_line or (bar and bar:is_visible()) then return end
    next_line = now() + REPORT_SECONDS
    if waits then
      log.info("fetch: waits for another node or process, which fetches %s", shown(url))
    else
      log.info("fetch: %s%s of %s", size_text(done), size and " of " .. size_text(size) or "", shown(url))
    end
  end, function() if bar then bar:finish() end end
end

-- As data.fetch; `of` has also `unpacked` and `mnist` (bring the file into the folder of MNIST). A failure is nil and a
-- message; a stop of the run raises.
local function fetch(url, of)
  local report, finish = reporter(url)
  local fine, path, message = pcall(c.fetch, url, of.sha256 or "", of.unpacked or false, of.mnist or false,
    of.timeout or SILENT_SECONDS, of.ca_file or "", report)
  finish()
  if not fine then error(path, 0) end
  return path, message
end

local function check_sum(sum, name, fn)
  if not sum:find("^%x+$") or #sum ~= 64 then
    check.fail("bad argument '%s' to %s: expected 64 hexadecimal digits, got '%s'", name, fn, sum)
  end
  return sum:lower()
end

local options_of_fetch = { sha256 = "string?", timeout = "number?", ca_file = "string?" }

---Fetches a file once and returns its path. The file is stored in `$XDG_CACHE_HOME/actorhost` (default
---`~/.cache/actorhost`), and a later call returns it without a request; remove the file to fetch it again. Several
---nodes or processes of a machine that call `fetch` at once download the file once. A terminal shows a progress bar.
---
---     local path = data.fetch("https://example.org/iris.csv", { sha256 = "...64 digits..." })
---```lua
---print(actor.data.fetch("file:///etc/passwd"))  --> /etc/passwd
---```
---
---Raises if the file cannot be fetched or stored, or has another sum; then nothing is stored. A lost connection is
---continued if the server supports it. A `file://` URL returns its own path.
---@param url string `http://`, `https://`, `s3://` or `file://`
---@param options? {sha256?: string, timeout?: number, ca_file?: string} `sha256`: the expected sum, as sha256sum prints
---  it; a stored file with another sum is fetched again. `timeout`: seconds without a byte after which fetching fails,
---  default 30. `ca_file`: PEM certificates for checking https servers, default as for `mapreduce.load`
---@return string path
function M.fetch(url, options)
  local fn = "data.fetch"
  check.arg(url, "string", "url", fn)
  options = check.optional_options(options, options_of_fetch, fn)
  if not url:lower():find("^https?://.") and not url:find("^s3://.") and not url:find("^file://.") then
    check.fail("bad argument 'url' to %s: expected http://, https://, s3:// or file:// and a place, got '%s'", fn, shown(url))
  end
  if options.timeout then check.number(options.timeout, "timeout", fn, 1) end
  local path, message = fetch(url, {
    sha256 = options.sha256 and check_sum(options.sha256, "sha256", fn), timeout = options.timeout, ca_file = options.ca_file,
  })
  return path or check.fail("%s", message)
end

-- The mirrors to try: {name, URL} each.
local function mirrors_of(mirror, fn)
  if not mirror then return M.mnist_mirrors end
  local names = {}
  for i, known in ipairs(M.mnist_mirrors) do
    if known[1] == mirror then return { known } end
    names[i] = known[1]
  end
  if not mirror:find("://", 1, true) then
    check.wrong("mirror", fn, "a URL or one of '" .. table.concat(names, "', '") .. "'", mirror)
  end
  return { { mirror, (mirror:gsub("/*$", "/", 1)) } }
end

---Fetches the files of MNIST, or of another set in its form, and returns their folder.
---@param mirror? string a URL with the four files below it, or the name of a mirror
---@param sums? table<string, string> the sums of another set, by the names of `mnist_sums`
---@param fn string the public function, for errors
---@return string folder
function M.fetch_mnist(mirror, sums, fn)
  for name, sum in util.pairs(sums or {}) do
    if not M.mnist_sums[name] then check.fail("bad argument 'sums' to %s: '%s' is no file of MNIST", fn, tostring(name)) end
    check_sum(tostring(sum), "sums", fn)
  end
  local failures = {}
  for _, place in ipairs(mirrors_of(mirror, fn)) do
    local path, message
    for name, sum in util.pairs(M.mnist_sums) do
      if sums then sum = sums[name] and sums[name]:lower() end
      path, message = fetch(place[2] .. name .. ".gz", { sha256 = sum, unpacked = true, mnist = not sums })
      if not path then break end
    end
    if path then return (path:match("^(.*)/")) end
    failures[#failures + 1] = message
  end
  check.fail("%s: MNIST cannot be fetched:\n  %s", fn, table.concat(failures, "\n  "))
end

return M
