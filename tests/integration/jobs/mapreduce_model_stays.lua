--- Operations of mapreduce_model_operations.lua that retain rows, or write rows to files and read them back.
local actor = require "actor"
local mr = require "actor.mapreduce"
local rows_of = require "mapreduce_model_rows"

local each, pick = rows_of.each, rows_of.pick

return function(operations, same)
  -- ---- retained rows ----

  local function unchanged(_, rows) return rows end

  -- Retains the dataset with `keep`, unless it is retained already, and computes it.
  local function kept_by(keep)
    return function(_, dataset)
      if not dataset.storage then keep(dataset) end
      dataset:count()
      return dataset
    end
  end

  operations.cache = {
    from = same, order = "kept", model = unchanged,
    apply = kept_by(function(dataset) dataset:cache() end),
  }

  operations.persist = {
    from = same, order = "kept", model = unchanged,
    apply = kept_by(function(dataset) dataset:persist { disk = true } end),
  }

  operations.unpersist = {
    from = same, order = "kept", model = unchanged,
    apply = function(_, dataset)
      dataset:count()
      return dataset:unpersist()
    end,
  }

  local checkpoints = 0

  operations.checkpoint = {
    from = same, order = "kept", model = unchanged,
    apply = function(_, dataset)
      checkpoints = checkpoints + 1
      return dataset:checkpoint(("checkpoint-%d-%d"):format(actor.seed, checkpoints))
    end,
  }

  -- ---- rows through files ----

  local saves = 0

  local function through(dataset, save, load)
    saves = saves + 1
    local folder = ("saved-%d-%d"):format(actor.seed, saves)
    dataset:save(folder, save)
    return mr.load(folder, load)
  end

  -- A pair is read back as a table.
  local function boxed(a, b)
    if b ~= nil then return { { a, b } } end
    return { a }
  end

  operations.csv = {
    from = { number = "number", text = "text", pairs = "boxes", boxes = "boxes" }, order = "kept",
    args = function() return { pick { ",", ";" }, pick { true, false } } end,
    apply = function(args, dataset)
      local rows = through(dataset, { format = "csv", separator = args[1] },
        { format = "csv", separator = args[1], multiline = args[2] })
      return rows:map(function(row)
        if #row == 1 then return row[1] end
        return row
      end)
    end,
    model = function(_, rows) return each(rows, function(row) return boxed(row[1], row[2]) end) end,
  }

  -- Replaces values that JSON cannot represent.
  local function for_json(a, b)
    if type(a) == "number" and a - a ~= 0 then a = "none" end
    if type(b) == "number" and b - b ~= 0 then b = "none" end
    if type(a) == "string" then a = a:gsub("\255", "?") end
    return a, b
  end

  operations.jsonl = {
    from = { number = "any", text = "text", pairs = "boxes" }, order = "kept",
    apply = function(_, dataset)
      local pairs_or_not = dataset:map(function(a, b)
        if type(a) == "table" then a, b = a[1], a[2] end
        return for_json(a, b)
      end)
      return through(pairs_or_not, { format = "jsonl" }, { format = "jsonl" })
    end,
    model = function(_, rows) return each(rows, function(row) return boxed(for_json(row[1], row[2])) end) end,
  }
end
