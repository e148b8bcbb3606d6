-- Compiles every Lua file named on standard input without running it. Usage: luajit syntax.lua < files

local problems = 0
for file in io.lines() do
  local chunk, message = loadfile(file)
  if not chunk then
    problems = problems + 1
    print(message)
  end
end
os.exit(problems == 0 and 0 or 1)
