-- Passes text to the loaders in each form.
print(load('return 1 + 1')())
print(load('return x', 'chunk', 't', {x = 'from env'})())
print(load('return 3', 'chunk', 'bt')())
print(loadstring('return ...')(4))
local parts = {'return ', '5'}
print(load(function() return table.remove(parts, 1) end)())
print(load('return ='))
print(loadfile('/nonexistent.lua'))
print(pcall(dofile, '/nonexistent.lua'))
