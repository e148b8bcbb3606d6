-- An endless loop of coroutines with protected calls and handlers.
jit.off(true, true)
begin()
while true do
  coroutine.resume(coroutine.create(function()
    xpcall(function() local n = 0 while true do n = n + #tostring(n) end end, function(m) return m end)
  end))
end
