-- Tests the search for faults: plants twelve faults one after another in the C++ sources, rebuilds the program, and
-- searches with tests/integration/jobs/losses.lua until a seed fails. Prints one line for each fault: its name, the
-- first failed seed, the error, and the seconds of the search. Exit code 1 when a fault is not found within 1,000
-- seeds. Run it in the root of the tree, with a built build/release and without uncommitted changes in host/.
--
--   luajit tests/bench/planted_faults.lua             all faults
--   luajit tests/bench/planted_faults.lua NAME...     some faults
--
-- It restores each source after its search, also after an error or Ctrl-C, and rebuilds the program in the end. After a
-- `kill -9` of this script, `git checkout -- host` restores the source.
package.path = "tests/bench/?.lua;" .. package.path
local now = require "monotonic"

local job, most_seeds, block = "tests/integration/jobs/losses.lua", 1000, 20

-- `old` occurs exactly once in the file, and `new` replaces it. `hosts`, `mix` and `words` are those of the rehearsals.
local faults = {
  -- peers

  -- After a loss, each writer sends its unacknowledged push again to a leader that has already applied it: more updates
  -- than steps.
  {
    name = "repeated-push", file = "host/engine/peer/key_holder.cpp",
    old = [[
    if (table_.taken(entry.key, operation.write.writer, operation.write.mark)) continue;
]],
    new = "",
    hosts = 5, mix = "kill=1,within=600ms", words = "peers asp",
  },
  -- A leader acknowledges a push at once, and sends it to its group 20 ms later. When the leader is killed meanwhile, a
  -- live worker's update is lost: fewer updates than steps.
  {
    name = "early-acknowledgement", file = "host/engine/peer/key_log.cpp",
    old = [[
  send(pending);
  writes_.push_back(std::move(pending));
]],
    new = [[
  pending.due = calls_.now() + 0.02;
  const OnDone acknowledge = std::exchange(pending.done, nullptr);
  writes_.push_back(std::move(pending));
  if (acknowledge) acknowledge(true);
]],
    hosts = 5, mix = "kill=1,within=900ms", words = "peers asp",
  },
  -- A leader repeats its writes to a stalled follower after half a second, and the follower applies them twice. Later
  -- the leader is killed and the follower leads: more updates than steps.
  {
    name = "repeated-write", file = "host/engine/peer/key_log.cpp",
    old = "if (follows && head->index == next->second) {",
    new = "if (follows && head->index <= next->second) {",
    hosts = 3, mix = "kill=1,stall=2:700ms,within=1500ms", words = "peers bsp",
  },

  -- parameter server

  -- The minimum clock never passes the clock of a lost worker: the barrier holds all others back (an error of the
  -- server, or no end).
  {
    name = "lost-worker-in-barrier", file = "host/engine/param/controller.cpp",
    old = "  progress_.remove(id);\n",
    new = "",
    hosts = 4, mix = "kill=1,within=500ms", words = "server bsp all",
  },
  -- A killed worker that waits at the barrier has a complete push, which is counted and then not merged: the sum of
  -- the values is less than the number of updates.
  {
    name = "dropped-push", file = "host/engine/param/controller.cpp",
    old = "merger_.discard(id, Discard::Extent::all, worker->step);",
    new = "merger_.discard(id, Discard::Extent::all, 0);",
    hosts = 4, mix = "kill=1,within=500ms", words = "server bsp all",
  },

  -- collectives

  -- Two ranks of a group wait for each other over a broken link. They take this for a mistake of the script before the
  -- coordinator drops one of them.
  {
    name = "broken-link-is-mistake", file = "host/engine/collective/stall_inspector.cpp",
    old = "  if (in_one_sequence) return {};",
    new = "  (void)in_one_sequence;",
    hosts = 6, mix = "kill=2,break=1,within=700ms", words = "collectives allreduce star apart",
  },
  -- A rank is killed while the others rest between two calls: the next call succeeds without it, and its sum is not
  -- that of the ranks before the call.
  {
    name = "unreported-loss", file = "host/engine/collective/collectives.cpp",
    old = "  if (spec.stale.empty()) spec.stale = std::move(entry.unreported_loss);\n",
    new = "  if (spec.placed && spec.stale.empty()) spec.stale = std::move(entry.unreported_loss);\n",
    hosts = 4, mix = "kill=1,within=700ms", words = "collectives allreduce ring",
  },
  -- A member ends a call when it has its own data, without the leader's commit. A rank farther down the chain is killed
  -- before it has the data: the call succeeds on the first members and fails on the leader.
  {
    name = "no-commit", file = "host/engine/collective/call.cpp",
    old = [[
  done_ = true;
  return on_all_data();
]],
    new = [[
  done_ = true;
  AH_TRY(on_all_data());
  if (group_.me != 0 && decide({})) end({});
  return {};
]],
    hosts = 6, mix = "kill=2,within=700ms", words = "collectives broadcast chain",
  },

  -- locks, events

  -- The requests of a killed holder stay in the table: the other hosts wait for ever.
  {
    name = "held-lock", file = "host/engine/share/lock_table.cpp",
    old = "  for (const uint32_t id : ids) release({node, id});\n",
    new = [[
  for (const uint32_t id : ids) {
    if (waits(id)) release({node, id});
  }
]],
    hosts = 4, mix = "kill=1,within=700ms", words = "locks",
  },
  -- A box with 16 events drops its oldest event. A stalled rank receives more than that at once: the numbers have a
  -- gap.
  {
    name = "full-event-box", file = "host/engine/share/event_box.cpp",
    old = "  const uint64_t number = numbers_++;\n",
    new = [[
  if (events_.size() >= 16) (void)take(events_.begin()->first);
  const uint64_t number = numbers_++;
]],
    hosts = 4, mix = "stall=1:300ms,within=300ms", words = "events",
  },

  -- map-reduce

  -- The board does not learn that outputs of the running action are lost, so no worker makes them again: the action
  -- does not end.
  {
    name = "lost-outputs", file = "host/mapreduce/tasks/tracker.cpp",
    old = "    for (auto& [number, run] : actions_) run.board().invalidate();\n",
    new = "",
    hosts = 4, mix = "kill=1,within=800ms", words = "mapreduce narrow",
  },

  -- averaging

  -- The survivors apply a round without the data of a killed worker. Their models fall far below the number of steps.
  {
    name = "broken-round", file = "host/engine/average/average_agent.cpp",
    old = "if (verdict.outcome == RoundVerdict::Outcome::applied && round_->mover) {",
    new = "if (verdict.outcome != RoundVerdict::Outcome::failed && round_->mover) {",
    hosts = 4, mix = "kill=1,within=350ms", words = "averaging all",
  },
}

local function text_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  assert(file:close())
end

-- Whether a command ends with 0.
local function succeeds(command)
  local status = os.execute(command)
  return status == true or status == 0
end

local function build()
  local log = os.tmpname()
  local built = succeeds("ninja -C build/release actorhost > " .. log .. " 2>&1")
  local output = text_of(log)
  os.remove(log)
  if not built then error("ninja has failed:\n" .. output, 0) end
end

-- The source with the fault.
local function planted(fault, text)
  local first, last = text:find(fault.old, 1, true)
  local again = first and text:find(fault.old, first + 1, true)
  if not first or again then
    local times = first and "more than once" or "nowhere"
    error(("%s: the old text occurs %s in %s"):format(fault.name, times, fault.file), 0)
  end
  return text:sub(1, first - 1) .. fault.new .. text:sub(last + 1)
end

-- Rehearses with the seeds of a block. Returns the first failed seed and its error, or nil.
local function search(fault, first)
  local command = ("build/release/bindings/actorhost rehearse --seeds %d:%d -j 2 --codes 0,3 --virtual-seconds 40 "
    .. "--start-timeout 10 --hosts %d --faults %s %s %s 2>&1"):format(first, first + block - 1, fault.hosts, fault.mix, job, fault.words)
  local seed, message, ended, last_line = nil, nil, false, "no output"
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do
    local failed, how = line:match("seed (%d+) ended with (.+)")
    if failed and not seed then seed, message = tonumber(failed), how end
    ended = ended or line:find("%d+ seeds, %d+ failed") ~= nil
    last_line = line
  end
  pipe:close()
  if not ended then error(("the search of %s has no result: %s"):format(fault.name, last_line), 0) end
  return seed, message
end

-- Builds the program with the fault, and searches. Prints the result; returns whether a seed has failed.
local function try(fault)
  build()
  local began, seed, message = now(), nil, nil
  for first = 1, most_seeds, block do
    seed, message = search(fault, first)
    if seed then break end
  end
  print(("%-22s %-9s %6.1f s  %s"):format(fault.name, seed and "seed " .. seed or "not found", now() - began,
    (message or ""):sub(1, 160)))
  io.flush()
  return seed ~= nil
end

-- Calls `fn(fault)` while the source has the fault.
local function with_fault(fault, fn)
  local text = text_of(fault.file)
  local worked, result = pcall(function()
    write(fault.file, planted(fault, text))
    return fn(fault)
  end)
  write(fault.file, text)
  if not worked then error(result, 0) end
  return result
end

-- The faults of these names; all without names.
local function named(names)
  if #names == 0 then return faults end
  local by_name, out = {}, {}
  for _, fault in ipairs(faults) do by_name[fault.name] = fault end
  for i, name in ipairs(names) do out[i] = by_name[name] or error("no fault is named " .. name, 0) end
  return out
end

local function main(chosen)
  local found = 0
  for _, fault in ipairs(chosen) do
    if with_fault(fault, try) then found = found + 1 end
  end
  print(("%d of %d found"):format(found, #chosen))
  return found == #chosen
end

local function complain(...)
  io.stderr:write("planted_faults: ", ...)
  io.stderr:write("\n")
end

-- Returns the faults to plant. Fails, before anything has changed, if some of them cannot be planted.
local function check_first()
  if not succeeds("git diff --quiet -- host") then error("host/ has uncommitted changes; commit them first", 0) end
  local chosen = named(arg)
  for _, fault in ipairs(chosen) do planted(fault, text_of(fault.file)) end
  return chosen
end

local ready, chosen = pcall(check_first)
if not ready then
  complain(chosen)
  os.exit(1)
end
local worked, result = pcall(main, chosen)
if not worked then complain(tostring(result)) end
local clean, failure = pcall(build)
if not clean then complain("the program still has a fault: ", tostring(failure)) end
os.exit(worked and result and clean and 0 or 1)
