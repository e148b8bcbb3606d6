-- Seconds on CLOCK_MONOTONIC, comparable between processes of one machine: require "monotonic".
local ffi = require "ffi"

ffi.cdef [[
typedef struct { long sec, nsec; } monotonic_time;
int clock_gettime(int clock, monotonic_time *out);
]]

return function()
  local time = ffi.new("monotonic_time")
  ffi.C.clock_gettime(1, time)
  return tonumber(time.sec) + tonumber(time.nsec) / 1e9
end
