--- Whether the loop of a function becomes a trace when the function runs, once or a few times: functions that it calls and
--- their loops come first, and how soon a loop is compiled depends on addresses, by which LuaJIT counts what is hot. A loop
--- that cannot be compiled never is, however often it runs.
---@param loop fun()
---@return boolean
return function(loop)
  local recorded, compiled
  local function watch(what, trace, func)
    if what == "start" and func == loop then recorded = trace end
    if what == "stop" and trace == recorded then compiled = true end
    if what == "abort" and trace == recorded then recorded = nil end
  end
  jit.attach(watch, "trace")
  for _ = 1, 20 do
    loop()
    if compiled then break end
  end
  jit.attach(watch)
  return compiled == true
end
