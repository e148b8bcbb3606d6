--- Parses the URLs of load and save.
local check = require("actor.check")

local M = {}

---Returns the path of a file URL; a text without a scheme is a path.
---@param url string
---@param operation string "mapreduce.load"
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

---@param url string
---@return boolean
function M.is_http(url)
  return url:find("^[hH][tT][tT][pP][sS]?://") ~= nil
end

return M
