"""26 MB of parameters, pulled and pushed by a worker in Python and by a worker in Lua.

Usage: python3 tests/bench/python_pulls.py PROGRAM [STEPS [ROUNDS]], with bindings/python in PYTHONPATH. Each round is
a run with each worker, in turns; prints the milliseconds of a step and the ratio of the medians.
"""

import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import actorhost

JOB = """
local actor = require "actor"
local param, tensor = actor.param, actor.tensor
local steps = tonumber(actor.args[1])
local update = tensor.ones { 6500, 1000 }
local summary = param.run {
  init = function() return { w = tensor.zeros { 6500, 1000 } } end,
  schedule = function(workers) -- worker 0 rests
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = id ~= 0 and { { "w" } } or nil end
    return tasks
  end,
  push = function(ctx, entries) return { { "w", update } } end,
  pull = actor.optim.sgd { lr = 0.1 },
  stop = function(ctx) return ctx.updates >= steps end,
}
if actor.id == 0 then print(("seconds %.6f"):format(summary.seconds)) end
"""


def run(program, folder, kind, steps):
    """Milliseconds of a step."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{probe.getsockname()[1]}"
    token = os.path.join(folder, "token")
    flags = ["--token-file", token, "--log-level", "error"]
    job = os.path.join(folder, "job.lua")
    command = [program, *flags, "--nnodes", "2", "--rdzv-endpoint", endpoint, "-n", "1", job, str(steps)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        if kind == "Lua":
            subprocess.run([program, "agent", "--join", endpoint, "-n", "1", "--once", *flags], check=True)
        else:
            update = {"w": np.ones((6500, 1000), "float32")}
            with actorhost.join(endpoint, token_file=token) as worker:
                while worker.step():
                    worker.pull()
                    worker.push(update)
        output = server.communicate(timeout=60)[0]
    return 1000 * float(re.search(r"seconds ([0-9.]+)", output).group(1)) / steps


def main():
    program = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    times = {"Lua": [], "Python": []}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "job.lua"), "w") as file:
            file.write(JOB)
        with open(os.path.join(folder, "token"), "w") as file:
            file.write("0123456789abcdef0123456789abcdef\n")
        os.chmod(file.name, 0o600)
        for _ in range(rounds):
            for kind, found in times.items():
                found.append(run(program, folder, kind, steps))
    for kind, found in times.items():
        print(f"{kind:7} {statistics.median(found):7.2f} ms a step  ({', '.join(f'{t:.2f}' for t in found)})")
    print(f"Python / Lua: {statistics.median(times['Python']) / statistics.median(times['Lua']):.3f}")


if __name__ == "__main__":
    main()
