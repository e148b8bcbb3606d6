-- Checks the records of the workers of a peer_histories.lua round: require "history_check".
--
-- registers: a read returns at least the newest value acknowledged before the read began, and at most
-- the newest value written before the read ended. No read returns an older value than an earlier completed
-- read.
-- counting: each value has each update of a surviving worker exactly once. Of a failed worker it has the acknowledged
-- updates and at most one more. All hosts that end with 0 have the same values and summary.
local processes = require "host_processes"

local most_complaints_of_a_kind = 5

local function lines_of(path) return processes.text_of(path):gmatch("([^\n]*)\n") end

-- Parses the record of one worker.
local function read_story(path, id)
  local story = { id = id, reads = {}, writes = {}, begun = {}, errors = {}, steps = {}, finals = {}, times = {}, wrong = {},
    missing = 0 }
  for line in lines_of(path) do
    local words = {}
    for word in line:gmatch("%S+") do words[#words + 1] = word end
    local word = words[1]
    if word == "get" or word == "set" or word == "leave" then
      local operation = { key = tonumber(words[2]), value = tonumber(words[3]), begin = tonumber(words[4]),
        finish = tonumber(words[5]), outcome = words[6], reader = id }
      if operation.outcome ~= "error" and word ~= "leave" then
        table.insert(word == "get" and story.reads or story.writes, operation)
      end
      story.times[#story.times + 1] = operation.finish
    elseif word == "begin" then
      table.insert(story.begun, { value = tonumber(words[3]), at = tonumber(words[4]) })
    elseif word == "step" then
      table.insert(story.steps, { number = tonumber(words[2]), at = tonumber(words[3]) })
      story.times[#story.times + 1] = tonumber(words[3])
    elseif word == "summary" then
      story.summary = words[2] .. " steps, " .. words[3] .. " updates"
      story.times[#story.times + 1] = tonumber(words[4])
    elseif word == "final" then
      story.finals[tonumber(words[2])] = { unpack(words, 3) }
    elseif word == "peer" then
      story.times[#story.times + 1] = tonumber(words[2])
    elseif word == "host" then
      story.host = tonumber(words[2])
    elseif word == "end" then
      story.ended = tonumber(words[2])
      story.times[#story.times + 1] = story.ended
    elseif word == "missing" then
      story.missing = story.missing + 1
    elseif word == "message" then
      table.insert(story.errors, line:match("^message (.*)"))
    elseif word == "wrong" then
      story.wrong[#story.wrong + 1] = line:match("^wrong (.*)")
    end
  end
  return story
end

local function read_stories(folder)
  local stories = {}
  for id = 0, 13 do
    local story = read_story(("%s/%d"):format(folder, id), id)
    if story.host then stories[#stories + 1] = story end
  end
  return stories
end

-- The last element of a list, sorted by `field`, whose `field` is at most `most`.
local function last_until(list, field, most)
  local low, high = 0, #list
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if list[middle][field] <= most then low = middle else high = middle - 1 end
  end
  return list[low]
end

local Check = {}
Check.__index = Check

function Check:complain(kind, text)
  self.kinds[kind] = (self.kinds[kind] or 0) + 1
  if self.kinds[kind] <= most_complaints_of_a_kind then table.insert(self.round.wrong, kind .. ": " .. text) end
end

-- With fewer failed hosts than replicas, a replica of each key survives.
function Check:may_be_lost() return self.round.lost_hosts >= self.round.replicas end

-- Whether the worker's host had no fault and a majority on its side continues.
function Check:is_sound(story) return self.round.sound_continues and not self.round.faulty[story.host] end

-- ---- registers ----

function Check:read(read, writer, seen)
  local acknowledged = last_until(writer.writes, "finish", read.begin)
  local begun = last_until(writer.begun, "at", read.finish)
  local before = last_until(seen, "finish", read.begin)
  local least, most = acknowledged and acknowledged.value or 0, begun and begun.value or 0
  local text = ("worker %d reads %s of register %d from %.6f to %.6f"):format(read.reader,
    read.outcome == "nil" and "nil" or read.value, read.key, read.begin, read.finish)
  if read.outcome:match("^torn") then self:complain("torn", text .. ", also " .. read.outcome:match(":(.*)")) end
  if read.outcome == "nil" and self:may_be_lost() and (least > 0 or before and before.newest > 0) then
    self.round.lost = self.round.lost + 1
  elseif read.value < least then
    self:complain("stale", ("%s; %d was acknowledged at %.6f"):format(text, least, acknowledged.finish))
  elseif read.value > most then
    self:complain("never written", ("%s; the newest write begun is %d"):format(text, most))
  elseif before and read.value < before.newest then
    self:complain("not monotonic", ("%s; %d was read before %.6f"):format(text, before.newest, before.finish))
  end
end

function Check:registers(stories)
  local reads, writers = {}, {}
  for _, story in ipairs(stories) do
    writers[story.id] = story
    for _, read in ipairs(story.reads) do
      reads[read.key] = reads[read.key] or {}
      table.insert(reads[read.key], read)
    end
  end
  for key, list in pairs(reads) do
    table.sort(list, function(a, b) return a.finish < b.finish end)
    local newest = 0
    local seen = {}
    for i, read in ipairs(list) do
      newest = math.max(newest, read.value)
      seen[i] = { finish = read.finish, newest = newest }
    end
    local none = { writes = {}, begun = {} }
    for _, read in ipairs(list) do self:read(read, writers[key] or none, seen) end
  end
end

-- ---- counting ----

-- The least and the greatest possible number of a worker's updates.
local function bounds(story, code)
  local last = story.steps[#story.steps]
  if not last then return 0, 0 end
  if code == 0 and story.summary then return last.number + 1, last.number + 1 end
  return last.number, last.number + 1
end

function Check:counting(stories)
  local first
  for _, story in ipairs(stories) do
    for i = 1, math.min(#story.wrong, 3) do
      if not self:may_be_lost() then self:complain("worker " .. story.id, story.wrong[i]) end
    end
    if story.missing > 0 then
      if self:may_be_lost() then self.round.lost = self.round.lost + 1
      else self:complain("missing", ("worker %d: a key was missing %d times"):format(story.id, story.missing)) end
    end
    if self.hosts[story.host].status == 0 and story.ended then
      self:counts(story, stories)
      first = first or story
      self:same(first, story)
    end
  end
end

-- Two workers of hosts that end with 0 must be in one run.
function Check:same(first, story)
  if story.summary ~= first.summary then
    self:complain("two runs", ("worker %d has %s, worker %d has %s"):format(first.id, first.summary, story.id, story.summary))
  end
  for key, value in pairs(first.finals) do
    local one, other = table.concat(value, " "), table.concat(story.finals[key] or {}, " ")
    local lost = self:may_be_lost() and (one == "nil" or other == "nil") -- between the two reads
    if one ~= other and not lost then
      self:complain("two histories", ("counter %d is %s for worker %d and %s for worker %d"):format(key, one, first.id,
        other, story.id))
    end
  end
end

function Check:counts(story, stories)
  for key, value in pairs(story.finals) do
    for _, other in ipairs(stories) do
      local least, most = bounds(other, self.hosts[other.host].status)
      local text = value[other.id + 1] or value[1]
      local count = tonumber(text)
      local place = ("worker %d: counter %d has %s updates of worker %d"):format(story.id, key, text, other.id)
      if not count and text ~= "nil" then
        self:complain("torn", place)
      elseif (count or 0) < least and self:may_be_lost() then
        self.round.lost = self.round.lost + 1
      elseif (count or 0) < least then
        self:complain("lost", ("%s, which has made %d"):format(place, least))
      elseif (count or 0) > most then
        self:complain("duplicated", ("%s, which has made %d"):format(place, most))
      end
    end
  end
end

-- ---- waits ----

local naming = { "missing:", "waits for ", "waiting for over 10 s for ", "lost ", "has dropped ", "for a majority" }

-- The longest wait of a worker after the first fault. The host's log must report a wait of more than 12 s.
function Check:waits(story)
  local last, longest = nil, 0
  local killed = self.round.faulty[story.host] == "killed"
  for _, time in ipairs(story.times) do
    if last and time > self.round.at then longest = math.max(longest, time - math.max(last, self.round.at)) end
    last = time
  end
  local host = self.hosts[story.host]
  if not story.ended and not killed and last then longest = math.max(longest, host.ended_at - math.max(last, self.round.at)) end
  if self:is_sound(story) then self.round.pause = math.max(self.round.pause, longest) end
  if longest <= 12 then return end
  local log = processes.text_of(host.log)
  for _, words in ipairs(naming) do if log:find(words, 1, true) then return end end
  self.late(self.round, ("worker %d of host %d waits for %.1f s, and its log does not name the awaited worker"):format(
    story.id, story.host, longest))
end

-- Adds wrong values to round.wrong and calls late(round, TEXT) for waits and errors. Counts reads of lost keys in
-- round.lost and operations in round.operations.
return function(folder, round, hosts, late)
  local check = setmetatable({ round = round, hosts = hosts, late = late, kinds = {} }, Check)
  local stories = read_stories(folder)
  for _, story in ipairs(stories) do
    round.operations = round.operations + #story.times
    check:waits(story)
    if check:is_sound(story) and not check:may_be_lost() then
      for i = 1, math.min(#story.errors, 3) do
        late(round, ("worker %d: %s"):format(story.id, story.errors[i]))
      end
    end
  end
  if round.job == "registers" then check:registers(stories) else check:counting(stories) end
  for kind, count in pairs(check.kinds) do
    if count > most_complaints_of_a_kind then table.insert(round.wrong, ("%s: %d in all"):format(kind, count)) end
  end
end
