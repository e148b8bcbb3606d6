"""The barrier simulator."""

from __future__ import annotations

import threading
from typing import Any, Dict, Optional

from ._cluster import Cluster

_CHUNK = """
local fixed, swept = ...
local sim, tensor = require("actor.sim"), require("actor.tensor")
local columns, names, rows = {}, {}, 0
local function put(name, value)
  if columns[name] == nil then columns[name] = {}; names[#names + 1] = name end
  columns[name][rows] = value
end
local function visit(depth, options)
  if depth <= #swept then
    for _, value in ipairs(swept[depth][2]) do
      options[swept[depth][1]] = value
      visit(depth + 1, options)
    end
    return
  end
  local given = {}
  for name, value in pairs(options) do given[name] = value end
  local result = sim.run(given)
  rows = rows + 1
  for _, axis in ipairs(swept) do put(axis[1], options[axis[1]]) end
  for name, value in require("actor.util").pairs(result) do
    if type(value) == "number" then put(name, value) end
    if name == "staleness" then put("staleness_mean", value.mean); put("staleness_max", value.max) end
  end
end
visit(1, fixed)
local out = {}
for i, name in ipairs(names) do
  local values = columns[name]
  local numeric = true
  for row = 1, rows do numeric = numeric and (type(values[row]) == "number" or values[row] == nil) end
  for row = 1, rows do if values[row] == nil then values[row] = 0 / 0 end end
  out[i] = { name, numeric and tensor.new(values, { dtype = "float64" }) or values }
end
return out
"""

_lock = threading.Lock()
_cluster: Optional[Cluster] = None


def _run(*arguments: Any) -> Any:
    global _cluster
    with _lock:
        if _cluster is None or _cluster._host.closed:
            _cluster = Cluster(n=1)
        return _cluster.eval(_CHUNK, *arguments)


def sim(**options: Any) -> Dict[str, Any]:
    """Simulates workers under barrier rules, with the options of Lua's `actor.sim.run` (`actorhost help sim.run`).

        table = actorhost.sim(barrier=["bsp", "ssp:4", "asp"], nodes=200, straggler="0.05:10x", seed=[1, 2, 3])
        table["barrier"], table["mean_step"]

    An option with a list is varied; with several lists, each combination is a run. Returns a table with a row for each
    run, as a dict of columns: arrays of numbers, lists of texts. The columns are the varied options and the numbers of
    actor.sim.Result (`mean_step`, `updates`, `messages`, ...).
    """
    if "barrier" not in options:
        raise TypeError("sim needs a barrier rule, such as barrier='ssp:4'")
    swept = [[name, list(value)] for name, value in options.items() if isinstance(value, (list, tuple, range))]
    empty = [name for name, values in swept if not values]
    if empty:
        raise ValueError(f"sim: {empty[0]} is an empty list")
    fixed = {name: value for name, value in options.items() if name not in dict(swept)}
    return {name: values for name, values in _run(fixed, swept)}
