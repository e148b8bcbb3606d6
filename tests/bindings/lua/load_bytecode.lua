-- Passes the global `bytecode` to each loader.
local loaders = {
  function() return load(bytecode) end, function() return load(bytecode, 'x', 'b') end,
  function() return load(bytecode, 'x', 'bt') end, function() return loadstring(bytecode) end,
  function() local given = false return load(function() if not given then given = true return bytecode end end) end,
}
for i, try in ipairs(loaders) do
  local chunk, message = try()
  print(chunk, message)
  assert(chunk == nil and message:find('bytecode'))
end
print(string.dump)
