-- actorhost fetch mnist|URL: stores a data set or a file in the cache of this user, and prints its place.
local data = require("actor.data")
local fetch = require("actor.data.fetch")
local flags = require("actor.flags")

local known = {
  { name = "sha256", value = "SUM", help = "of a URL: the expected sum, as sha256sum prints it" },
  { name = "mirror", value = "NAME|URL", help = "of mnist: ossci, cvdf, or the URL of a folder of the four .gz files (each named mirror until one succeeds)" },
  { name = "help", help = "this page" },
}
local usage = "usage: actorhost fetch mnist [--mirror NAME|URL]    the files of MNIST, for data.mnist\n"
  .. "       actorhost fetch URL [--sha256 SUM]           any file, as data.fetch\n"

local function main()
  local values, rest, fail = flags.command("fetch", known, usage)
  if not values then return rest end
  local function misused(message) return fail(2, message .. "\nrun 'actorhost fetch --help' for the flags") end
  if #rest ~= 1 then return misused(#rest == 0 and "it takes a word: mnist or a URL" or ("it takes one word, got '%s' too"):format(rest[2])) end
  local is_mnist = rest[1] == "mnist"
  if is_mnist and values.sha256 then return misused("--sha256 is for a URL") end
  if not is_mnist and values.mirror then return misused("--mirror is for mnist") end
  local fine, result = pcall(function()
    if is_mnist then return fetch.fetch_mnist(values.mirror, nil, "actorhost fetch") end
    return data.fetch(rest[1], { sha256 = values.sha256 })
  end)
  if not fine then return fail(1, (tostring(result):gsub("^[^:]*:%d+: ", ""):gsub("^actorhost fetch: ", ""))) end
  print(result)
  return 0
end

return main()
