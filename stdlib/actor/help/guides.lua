--- The guides of the reference: parts of the pages of the source tree, which the program contains as "page/PATH".
local core = require("actor.c.core")

local M = {}

---@class actor.help.Guide
---@field name string of its page: "first-job"
---@field title string
---@field about string
---@field parts {[1]: string, from?: string, to?: string, optional?: boolean}[] a page of the tree, whole or from a
---heading (`from`) to the next of its level; `to`: up to the line that begins so

---@type actor.help.Guide[]
M.list = {
  { name = "first-job", title = "A first job", about = "nodes and ranks, a collective, training, checkpoints, flags",
    parts = { { "examples/guides/first_job.md" } } },
  { name = "questions", title = "Questions", about = "short answers, with the place to read on",
    parts = { { "examples/guides/questions.md" } } },
  { name = "barrier-rules", title = "Barrier rules", about = "rules by name, a rule of your own, which to choose",
    parts = { { "examples/guides/barrier_rules.md" } } },
  { name = "simulator", title = "The simulator", about = "barrier rules on thousands of simulated workers",
    parts = { { "README.md", from = "Barrier rules in the simulator" } } },
  { name = "map-reduce", title = "Map-reduce", about = "pipelines over files and arrays: all operations and guarantees",
    parts = { { "stdlib/actor/mapreduce/README.md" } } },
  { name = "peers", title = "Peers", about = "training without a server",
    parts = { { "README.md", from = "Without a server" } } },
  { name = "clusters", title = "Clusters", about = "tokens, ports, ssh, mpirun, Slurm, torchrun, Kubernetes",
    parts = { { "README.md", from = "Several machines" }, { "scripts/CLUSTERS.md" } } },
  { name = "looking-into-a-run", title = "Looking into a run", about = "the console, the page, metrics, recordings",
    parts = { { "README.md", from = "A console" }, { "README.md", from = "Watching a run" } } },
  { name = "rehearsal", title = "Rehearsal", about = "a whole job on simulated hosts, with failures",
    parts = { { "host/rehearsal/README.md", to = "| files | content |" } } },
  { name = "neural-networks", title = "Neural networks", about = "layers, chains, networks, a layer of your own",
    parts = { { "stdlib/actor/nn/README.md", to = "| file | contents |" } } },
  { name = "numpy", title = "Tensors and NumPy", about = "NumPy's names beside those of tensors",
    parts = { { "stdlib/actor/tensor/NUMPY.md" } } },
  { name = "embedding", title = "Embedding", about = "a C++ program that runs a job",
    parts = { { "README.md", from = "From C++" }, { "examples/guides/embedding.md" } } },
  { name = "python", title = "From Python", about = "a Python process as a worker, and clusters from Python",
    parts = { { "examples/python/README.md", optional = true } } },
  { name = "examples", title = "Examples", about = "whole jobs",
    parts = { { "examples/README.md" } } },
  { name = "exit-codes", title = "Exit codes", about = "of the program",
    parts = { { "README.md", from = "Exit codes" } } },
}

---Returns the text of a page of the tree, nil if the program does not contain it.
---@param path string
---@return string?
function M.page(path)
  local name = "page/" .. path
  return core.library()[name] and core.library_text(name) or nil
end

-- The lines of a part. Raises if the page or the heading is missing.
local function lines_of(part)
  local text = M.page(part[1])
  if not text then
    if part.optional then return {} end
    error(("the guides name the page %s, which the program does not contain"):format(part[1]), 0)
  end
  local lines, within, level = {}, not part.from, nil
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\n") do
    local marks, heading = line:match("^(#+) (.+)$")
    if part.to and line:sub(1, #part.to) == part.to then break end
    if within and level and marks and #marks <= level then break end
    if heading and heading == part.from then within, level = true, #marks end
    if within then lines[#lines + 1] = line end
  end
  if #lines == 0 then error(("%s has no heading '%s', which the guides name"):format(part[1], part.from or ""), 0) end
  return lines
end

---Returns the anchor of a heading, as in the pages of source trees: "The first job" has "the-first-job".
---@param heading string
---@return string
function M.anchor(heading) return (heading:lower():gsub("[^%w%s_-]", ""):gsub("%s", "-")) end

---@class actor.help.Section
---@field heading string
---@field level integer
---@field anchor string
---@field path string the page of the tree
---@field text string Markdown, without the heading

local parsed = {} -- the sections of a guide

---Returns a guide's sections in order, empty for a guide without pages.
---@param guide actor.help.Guide
---@return actor.help.Section[]
function M.sections(guide)
  if parsed[guide] then return parsed[guide] end
  local sections = {}
  for _, part in ipairs(guide.parts) do
    local section, fenced
    for _, line in ipairs(lines_of(part)) do
      if line:find("^```") then fenced = not fenced end
      local marks, heading = line:match("^(#+) (.+)$")
      if heading and not fenced then
        section = { heading = heading, level = #marks, anchor = M.anchor(heading), path = part[1], lines = {} }
        sections[#sections + 1] = section
      else
        section.lines[#section.lines + 1] = line
      end
    end
  end
  for _, section in ipairs(sections) do
    section.text, section.lines = table.concat(section.lines, "\n"):match("^%s*(.-)%s*$"), nil
  end
  parsed[guide] = sections
  return sections
end

---Lists the guides that have pages.
---@return actor.help.Guide[]
function M.present()
  local present = {}
  for _, guide in ipairs(M.list) do
    if #M.sections(guide) > 0 then present[#present + 1] = guide end
  end
  return present
end

return M
