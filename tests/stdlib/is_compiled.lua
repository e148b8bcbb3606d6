--- Whether the loop of a function becomes a trace. The function runs up to 20 times: called functions and their loops
--- are compiled first, and LuaJIT counts hot loops by address, so the number of runs varies. A loop that cannot be
--- compiled fails in every run.
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
