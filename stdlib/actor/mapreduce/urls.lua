--- Parses the URLs of load and save.
local check = require("actor.check")

local M = {}

local remote = {
  ["mapreduce.load"] = "s3://BUCKET/KEY, http:// or https://", ["mapreduce.whole_files"] = "s3://BUCKET/KEY",
  ["mapreduce.save"] = "s3://BUCKET/KEY",
}

---Returns the path of a file URL; a text without a scheme is itself a path, and an s3:// URL is unchanged. Raises for
---other schemes, and for s3:// where the operation has no support for it.
---@param url string
---@param operation string the name of the public function, for errors: "mapreduce.load"
---@return string
function M.path(url, operation)
  if remote[operation] and url:find("^s3://") then return url end
  local path = url:match("^file://(.*)$") or url:match("^unix://(.*)$")
  if not path and url:find("^%a[%w+.-]*://") then
    check.fail("%s: '%s' is not supported; give file://PATH, unix://PATH or a path%s", operation, url:match("^(.-)://") .. "://",
      remote[operation] and ", " .. remote[operation] or "")
  end
  path = path or url
  if path == "" then check.fail("%s: '%s' names no path", operation, url) end
  return path
end

---Returns whether the scheme is http or https.
---@param url string
---@return boolean
function M.is_http(url) return url:find("^[hH][tT][tT][pP][sS]?://") ~= nil end

return M
