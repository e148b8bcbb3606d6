-- Events: the first argument selects the job.
local actor = require "actor"
local meeting = require "meeting"
local expect = require "expect"

local jobs = {}

-- case: events within: 60 at: threads:{1,2,8} threads isolate hosts
function jobs.events()
  local c, tensor = actor.collective, actor.tensor
  local rank, n = actor.rank, actor.size

  -- To all ranks, including this rank: every kind of value.
  local values = { 1.5, "text", true, { 1, { a = "b" } }, tensor.arange(6):reshape(2, 3),
    { w = tensor.full({ 3 }, rank), b = tensor.zeros(0), name = "model" }, string.rep("long", 1000) }
  for i = 1, #values do c.send_event("all", values[i]) end
  c.send_event("all", nil)
  for from = 0, n - 1 do
    local function next_value() return c.wait_event("all", { from = from }).value end
    assert(next_value() == 1.5 and next_value() == "text" and next_value() == true)
    assert(next_value()[2].a == "b")
    local t = next_value()
    assert(t:sum() == 15 and t.shape[2] == 3)
    local mixed = next_value()
    assert(mixed.name == "model" and mixed.b.shape[1] == 0)
    assert(mixed.w:sum() == 3 * from)
    assert(next_value() == values[7] and next_value() == nil)
  end

  -- Point to point, around the ring; the receiver gets a copy.
  local slice = tensor.full({ 4 }, rank)
  c.send_event("slice", slice, { to = (rank + 1) % n })
  slice:fill_(-1)
  local event = c.wait_event("slice")
  assert(event.name == "slice" and event.from == (rank - 1) % n and event.id == event.from)
  assert(event.value:sum() == 4 * event.from)

  c.barrier()
  -- The rank's own queue, by name and in order; without waiting.
  assert(c.get_event() == nil)
  for i = 1, 3 do c.send_event(i == 2 and "two" or "odd", i, { to = "local" }) end
  assert(c.get_event("none") == nil)
  assert(c.get_event("two").value == 2 and c.get_event().value == 1 and c.wait_event("odd").value == 3)
  assert(c.get_event() == nil)

  c.barrier()
  -- All nodes flood all others before any node reads events.
  for i = 1, 3000 do c.send_event("flood", i) end
  c.barrier()
  local last = {}
  for _ = 1, 3000 * n do
    local e = c.wait_event("flood")
    assert(e.value == (last[e.from] or 0) + 1)
    last[e.from] = e.value
  end
  local got, message, code = c.wait_event("flood", { timeout = 0.01 })
  assert(got == nil and code == (n == 1 and "peer_lost" or "timeout"), message)
  c.barrier()
end

-- Waiting for an event of a killed node ends after its sent events are taken.
-- case: lost kill: stays within: 20 at: isolate
function jobs.lost()
  local c = actor.collective
  if actor.rank == 1 then
    c.send_event("last word", 5, { to = 0 })
    c.wait_event("heard")
    meeting.stay()
  elseif actor.rank == 0 then
    expect.same(c.wait_event("last word", { from = 1 }).value, 5)
    c.send_event("heard", true, { to = 1 })
    local got, message, code = c.wait_event("more", { from = 1 })
    assert(got == nil and message == "wait_event: rank 1 lost while waiting for 'more'" and code == "peer_lost", message)
  end
end

-- Waiting for an event is an error when all other ranks have ended.
-- case: ends at: threads isolate hosts
function jobs.ends()
  local c = actor.collective
  if actor.rank == 1 then c.send_event("bye", 1, { to = 0 }) end
  if actor.rank == 0 then
    expect.same(c.wait_event("bye").from, 1)
    local got, message = c.wait_event()
    assert(got == nil and message:find("every other worker has come to the end of its script", 1, true), message)
    local none, why, code = c.wait_event("x", { from = 1 })
    assert(none == nil and why:find("rank 1 has come to the end of its script", 1, true) and code == "peer_lost", why)
  end
end

-- case: wrong_calls_are_errors_at_the_line_of_the_user at: threads:2
function jobs.wrong_calls_are_errors_at_the_line_of_the_user()
  local c, refused = actor.collective, expect.refused
  refused(function() c.send_event("x", { f = print }) end, "collective.send_event: value.f is a function")
  refused(function() c.send_event(5, 1) end, "bad argument 'name' to collective.send_event: expected string, got number")
  refused(function() c.send_event("x", 1, { to = 2 }) end, "bad argument 'to' to collective.send_event: expected an integer from 0 to 1, got 2")
  refused(function() c.send_event("x", 1, { to = "everybody" }) end,
    "bad argument 'to' to collective.send_event: expected a rank, 'all' or 'local', got string")
  refused(function() c.wait_event("x", { from = -1 }) end, "bad argument 'from' to collective.wait_event: expected an integer from 0 to 1, got -1")
  refused(function() c.wait_event("x", { form = 1 }) end, "unknown option 'form' to collective.wait_event (known: from, timeout)")
end

jobs[(...)](select(2, ...))
