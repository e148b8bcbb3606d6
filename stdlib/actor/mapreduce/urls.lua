--- Parses the URLs of load and save.
local check = require("actor.check")

local M = {}

---Returns the path of a file URL; a text without a scheme is itself a path. Raises for other schemes.
---@param url string
---@param operation string the name of the public function, for errors: "mapreduce.load"
---@return string
function M.path(url, operation)
  local path = url:match("^file://(.*)$") or url:match("^unix://(.*)$")
  if not path and url:find("^%a[%w+.-]*://") then
    check.fail("%s: '%s' is not supported; give file://PATH, unix://PATH or a path%s", operation, url:match("^(.-)://") .. "://",
      operation == "mapreduce.load" and ", http:// or https://" or "")
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
