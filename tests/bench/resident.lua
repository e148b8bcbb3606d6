-- The resident memory of this process in MB, after a Lua garbage collection: require "resident".
return function()
  for _ = 1, 2 do collectgarbage() end
  for line in io.lines("/proc/self/status") do
    local kilobytes = line:match("^VmRSS:%s*(%d+)")
    if kilobytes then return kilobytes / 1024 end
  end
end
