--- Workers as peers: an overlay without a centre, whose nodes know a few others, draw uniform samples of all, and
--- estimate how many there are (host/overlay/README.md). A worker becomes a peer with its first call.
---
---     local seen = actor.peer.sample(10)          -- some of the workers, itself perhaps among them
---     local n, error = actor.peer.size_estimate()
---
--- From the first call on, the run goes on when its rendezvous host is lost: the lowest host that lives takes its place.
--- What needs the rendezvous host itself (actor.param, actor.mapreduce and other actions) then raises an error.
local check = require("actor.check")
local events = require("actor.events")
local node = require("actor.c.node")
local c = require("actor.c.peer")

---@class actor.peer
local M = {}

---@class actor.Peer
---@field id integer the worker's permanent id
---@field rank integer|nil its rank; nil when it is gone meanwhile

local function enter(fn)
  if node.role == "server" then
    check.fail("%s is for workers and this is a parameter server; guard with actor.role", fn)
  end
  events.deliver()
end

---Draws different peers that live, each set of `beta` equally likely; the asking one may be among them. Each has
---answered. (The sampling primitive of PSP: Wang, Catterall and Mortier, "Probabilistic synchronous parallel", 2017; how
---the ring gives uniform samples: host/overlay/uniform_sampler.hpp.)
---@param beta integer how many; more than there are means all
---@param options? {timeout?: number} seconds until what has answered has to do; 2 by default
---@return actor.Peer[]|nil peers fewer than `beta` where there are no more, or no more have answered in time
---@return string? message "peer.sample: no other worker has answered within 20 s; ..."
---@return string? code "timeout"
function M.sample(beta, options)
  local fn = "peer.sample"
  check.integer(beta, "beta", fn, 0)
  local timeout = 2
  if options ~= nil then
    check.options(options, { timeout = "number?" }, fn)
    if options.timeout ~= nil then
      check.number(options.timeout, "timeout", fn, 0)
      timeout = options.timeout
    end
  end
  enter(fn)
  return c.sample(beta, timeout)
end

---How many peers there are, from the density of their ids on the ring around this one and around those that it has
---lately looked up. Exact up to 32 others.
---@return number|nil nodes this one counts
---@return number|string error standard error, in nodes; or a message
---@return string? code "timeout"
function M.size_estimate()
  enter("peer.size_estimate")
  return c.size_estimate()
end

---The nearest peers on both sides of the ring, up to 16 each, nearest first. In a small ring one may be on both.
---@return {before: actor.Peer[], after: actor.Peer[]}|nil neighbours
---@return string? message
---@return string? code "timeout"
function M.neighbours()
  enter("peer.neighbours")
  return c.neighbours()
end

---Leaves the overlay; the neighbours learn it at once. A later call of another function enters anew.
function M.leave()
  enter("peer.leave")
  c.leave()
end

return M
