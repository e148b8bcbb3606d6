-- An inverted index of a folder tree, saved and read back: which files contain a word?
--   actorhost -n 4 examples/inverted_index.lua FOLDER INDEX [WORD...]
-- INDEX becomes a folder of text files; each line is a word and, after tabs, the files that contain it.
local actor = require "actor"
local mr, text = actor.mapreduce, actor.text

local folder, index = ...
if not index then error("give a folder and a folder for its index: inverted_index.lua FOLDER INDEX [WORD...]", 0) end

local function same(words) return text.lower(text.nfc(words)) end -- ignores case

local files = mr.whole_files(folder .. "/**") -- of the whole tree
local saved = files
  :flatmap(function(path, content)
    local words, seen = text.words(same(content)), {}
    return function() -- each distinct word of the file, with its path
      for word in words do
        if not seen[word] then
          seen[word] = true
          return word, path
        end
      end
    end
  end)
  :group_by_key()
  :sort_by_key()
  :map(function(word, paths)
    table.sort(paths)
    return word .. "\t" .. table.concat(paths, "\t")
  end)
  :save(index, { overwrite = true })
print(("%d words of %d files are in %s"):format(saved.rows, files:count(), index))

local wanted = {}
for i = 3, #actor.args do wanted[same(actor.args[i])] = true end
for _, line in ipairs(mr.load(index):filter(function(line) return wanted[line:match("^[^\t]*")] end):collect()) do print(line) end
