--- `with_file(text, body)`: calls body(path) with a temporary file that contains the text, and removes the file
--- afterwards.
return function(text, body)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local fine, message = xpcall(body, debug.traceback, path)
  os.remove(path)
  if not fine then error(message, 0) end
end
