-- An endless loop of protected calls.
jit.off(true, true)
begin()
while true do
  pcall(function() local n = 0 while true do n = n + #tostring(n) end end)
end
