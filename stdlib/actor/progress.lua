--- One progress bar for the whole run. It appears on standard error if that is a terminal and --no-progress is absent.
--- Without a terminal, standard error gets its text once a minute if nothing else is written.
local check = require("actor.check")

-- The terminal of a subcommand; nil on a node.
local command = package.preload["actor.c.command"] and require("actor.c.command")
local terminal = command or require("actor.c.node")

---@class actor.Progress
---@field private total number
---@field private label string
---@field private began number
---@field private shown number
local Progress = check.class("progress:")

---@class actor.progress
local M = {}

local REDRAW_SECONDS = 0.1
local BAR_COLUMNS = 28 -- at most; a narrow terminal gets fewer
local LEAST_COLUMNS = 8

---Makes a bar for `total` units of work. Only the first live rank, or a callback on the server's shard 0, shows it.
---```lua
---local bar = actor.progress.new { total = 100, label = "reading" }
---for done = 1, 100 do bar:update(done) end
---bar:finish()
---```
---@param options {total: number, label?: string, quiet?: boolean, any_rank?: boolean} `any_rank`: any node shows it
---@return actor.Progress
function M.new(options)
  check.options(options, { total = "number", label = "string?", quiet = "boolean?", any_rank = "boolean?" }, "progress.new")
  check.number(options.total, "total", "progress.new", 0)
  local enabled = not options.quiet
    and (command or ((options.any_rank or terminal.rank == 0 or terminal.shard == 0) and terminal.flags().progress))
  return setmetatable({
    total = options.total, label = options.label or "", began = require("actor").now(), shown = -1,
    visible = enabled,
  }, Progress)
end

local function seconds_text(seconds)
  if seconds == math.huge then return "?" end
  if seconds < 60 then return ("%d s"):format(math.ceil(seconds)) end
  return ("%d:%02d"):format(math.floor(seconds / 60), math.floor(seconds % 60))
end

-- The line for a terminal of `columns` columns, or for the log if `columns` is 0. For a narrow terminal it omits first
-- the text, then the time, then the bar.
local function line(columns, label, share, left, text)
  local percent = ("%3.0f %%"):format(share * 100)
  local time = ("  %4s left"):format(seconds_text(left))
  if columns == 0 then
    return ("%s: %.0f %%, %s left%s"):format(label, share * 100, seconds_text(left), text ~= "" and ", " .. text or "")
  end
  for _, tail in ipairs({ percent .. time .. "  " .. text, percent .. time, percent }) do
    local bar = math.min(BAR_COLUMNS, columns - #label - #tail - #" [] ")
    if bar >= LEAST_COLUMNS then
      local full = math.floor(share * bar)
      return ("%s [%s%s] %s"):format(label, ("#"):rep(full), ("."):rep(bar - full), tail)
    end
  end
  return label .. " " .. percent
end

---Draws the bar at `done` of the total, followed by a short text. Cheap soon after the previous drawing.
---```lua
---local bar = actor.progress.new { total = 3, label = "epochs" }
---bar:update(1, "loss 0.31")
---bar:finish()
---```
---@param done number
---@param text? string
function Progress:update(done, text)
  if not self.visible then return end
  local now = require("actor").now()
  if now - self.shown < REDRAW_SECONDS then return end
  self.shown = now
  local share = self.total > 0 and math.min(1, math.max(0, done / self.total)) or 1
  local left = share > 0 and (now - self.began) * (1 - share) / share or math.huge
  terminal.status(line(terminal.status_columns(), self.label, share, left, text or ""))
end

---Returns whether updates draw the bar.
---@return boolean
function Progress:is_visible() return self.visible end

---Removes the bar.
---```lua
---local bar = actor.progress.new { total = 3 }
---bar:finish()
---```
function Progress:finish()
  if self.visible then terminal.status("") end
  self.visible = false
end

return M
