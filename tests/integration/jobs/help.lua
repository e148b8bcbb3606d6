-- The job of help_test.cpp.
local actor = require "actor"

-- Prints each name without a docstring: the functions of modules as scripts see them, and the methods of all objects
-- that reject unknown names.
local core, help = require "actor.c.core", require "actor.help"

local function documented(name)
  for _, entry in ipairs(help.find(name)) do
    if #entry.text > 0 then return true end
  end
end

local modules, functions, methods, classes, texts = 0, 0, 0, {}, {}
for module in actor.pairs(core.library()) do
  local text = module:find("^actor") and core.library_text(module)
  if text then
    texts[#texts + 1] = text
    for _, form in ipairs { "\nlocal (%u%w*) = check%.class", "setmetatable%((%u%w*), check%.strict" } do
      for class in text:gmatch(form) do classes[class] = true end
    end
  end
  local name = module:match("^actor%.([%w_]+)$")
  local value = name and name ~= "iteration" and require(module)
  if type(value) == "function" and not documented(name) then print("no docstring: " .. name) end
  if type(value) == "table" then
    modules = modules + 1
    for key, member in actor.pairs(value) do
      if type(member) == "function" then
        functions = functions + 1
        if not documented(name .. "." .. key) then print("no docstring: " .. name .. "." .. key) end
      elseif type(member) == "table" and not getmetatable(member) then
        for inner, of_table in actor.pairs(member) do -- data.npy.load
          local full = ("%s.%s.%s"):format(name, key, inner)
          if type(of_table) == "function" and not documented(full) then print("no docstring: " .. full) end
        end
      end
    end
  end
end
for class, object in actor.pairs { dataset = actor.mapreduce.range(1, 2), table = actor.collective.table { combiner = "sum" } } do
  for key, member in actor.pairs(getmetatable(object).__index) do -- including methods defined elsewhere
    if type(member) == "function" and not key:find("^__") and #help.find(class .. ":" .. key) == 0 then print("no docstring: " .. class .. ":" .. key) end
  end
end
for _, text in ipairs(texts) do
  for class, name in text:gmatch("\nfunction (%u%w*)[:.]([%w_]+)") do
    if classes[class] and not name:find("^__") then
      methods = methods + 1
      if not documented(class:lower() .. ":" .. name) then print("no docstring: " .. class .. ":" .. name) end
    end
  end
end
-- The functions and methods of the modules for jobs have examples.
local modules_for_jobs = { "param", "peer", "collective", "mapreduce", "tensor", "nn", "optim", "data", "plot", "sim",
  "average", "checkpoint", "options", "progress", "codec", "filter", "text", "psp", "trace", "rng", "log", "barrier" }
-- Others are for the host and for the library itself, or are arguments of other functions.
local others = { ["param.checkpoint_now"] = true, ["peer.swap"] = true,
  ["optim.to_c"] = true, ["optimiser:clips"] = true, ["optimiser:clip_push"] = true, ["checkpoint:due"] = true,
  ["checkpoint:read"] = true, ["checkpoint:write"] = true, ["codec.register_tensor"] = true, ["filter.of_param"] = true,
  ["barrier.evaluator"] = true, ["barrier.loader"] = true, ["barrier.runner"] = true, ["barrier.progress"] = true,
  ["table:finish"] = true, ["table:rows_before"] = true, ["table:write"] = true, ["loader:__call"] = true,
  ["scheduler:open"] = true, ["data.npy"] = true, ["data.npz"] = true,
  ["averaging:unlock"] = true, ["optimiser:restore"] = true } -- of averaging:lock, optimiser:state
for name in ("gather scatter alltoall reduce_scatter"):gmatch("%S+") do others["table:" .. name] = true end -- raise
for name in ("words one sum min max count identity"):gmatch("%S+") do others["mapreduce." .. name] = true end
local layers = { activation = true, conv2d = true, dropout = true, linear = true, normalisation = true, pool2d = true,
  softmax = true, progress = true } -- of nn: their passes are called by the network; `progress` of barriers

local function has_example(name)
  for _, entry in ipairs(help.find(name)) do
    if #entry.examples > 0 or entry.class then return true end -- a field has one line
  end
end

local examples = 0
for _, module in ipairs(modules_for_jobs) do
  for _, name in ipairs(help.contents("actor." .. module)) do
    local in_layer = layers[name:match("^(%w+):") or ""]
    if has_example(name) then
      examples = examples + 1
    elseif not others[name] and not in_layer then
      print("no example: " .. name)
    end
  end
end
print(examples > 350)

local types = 0
for _, text in ipairs(texts) do
  for comment in text:gmatch("%-%-%-(%C*)") do
    for type in comment:gmatch("actor%.[%w_.]*%u%w*%l%w*") do
      types = types + 1
      if #help.find(type) == 0 then print("no docstring: " .. type) end
    end
  end
end
print(types > 500)
print(modules > 15, functions > 250, methods > 100)
