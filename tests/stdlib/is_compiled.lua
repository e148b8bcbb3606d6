--- Whether the loop of a function becomes a trace when the function runs.
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
  loop()
  jit.attach(watch)
  return compiled == true
end
