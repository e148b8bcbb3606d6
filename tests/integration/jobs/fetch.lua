-- data.fetch and data.mnist { fetch = true }: the first argument selects the job. fetch_test.cpp runs them.
local actor = require "actor"
local data = actor.data

local jobs = {}

-- Every node prints the content of a URL.
function jobs.content(url, sum)
  local path = data.fetch(url, { sha256 = sum, timeout = 2 })
  local file = assert(io.open(path))
  print(("%s has %s"):format(path, file:read("*a")))
  file:close()
end

-- Prints the error of each URL.
function jobs.errors(...)
  for _, url in ipairs { ... } do
    local fine, message = pcall(data.fetch, url, { timeout = 1 })
    print(fine and url .. " was fetched" or message)
  end
end

-- Prints the error of a download whose sum is wrong.
function jobs.wrong_sum(url)
  local _, message = pcall(data.fetch, url, { sha256 = ("0"):rep(64) })
  print(message)
  actor.sleep(0.3)
  print("the end")
end

-- Loads a set in MNIST's form from a mirror; `sums` are the sums of two of its files.
function jobs.mnist(mirror, images, labels)
  local sums = images and { ["train-images-idx3-ubyte"] = images, ["train-labels-idx1-ubyte"] = labels }
  local set = data.mnist { fetch = true, mirror = mirror, sums = sums }
  print(set.source, set.train.n, set.test.n)
end

function jobs.wrong_arguments()
  local refused = require("expect").refused
  refused(function() data.fetch(7) end, "bad argument 'url' to data.fetch: expected string, got number")
  refused(function() data.fetch("ftp://user:word@x/y") end,
    "bad argument 'url' to data.fetch: expected http://, https://, s3:// or file:// and a place, got 'ftp://x/y'")
  refused(function() data.fetch("http://x/y", { sha256 = "12" }) end, "expected 64 hexadecimal digits, got '12'")
  refused(function() data.fetch("http://x/y", { sum = "12" }) end, "unknown option 'sum' to data.fetch")
  refused(function() data.mnist { mirror = "ossci" } end, "data.mnist: 'mirror' and 'sums' are for fetch = true")
  refused(function() data.mnist("images", { fetch = true }) end, "so no folder is to be given")
  refused(function() data.mnist { fetch = true, mirror = "osci" } end,
    "bad argument 'mirror' to data.mnist: expected a URL or one of 'ossci', 'cvdf', got 'osci'")
  refused(function() data.mnist { fetch = true, sums = { ["train-images"] = ("0"):rep(64) } } end,
    "bad argument 'sums' to data.mnist: 'train-images' is no file of MNIST")
end

jobs[(...)](select(2, ...))
