"""actorhost.join: workers in Python, beside workers in Lua."""

import os
import pathlib
import re
import resource
import signal
import struct
import sys
import unittest

import actorhost
from hosts import Folder, skip_without

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"

# Each worker adds ones to `w`; worker 0, in Lua, adds tens.
JOB = """
local actor = require "actor"
local steps = tonumber(actor.args[1])
local summary = actor.param.run {
  init = function() return { w = actor.tensor.zeros { 2, 3 }, note = "text" } end,
  schedule_local = function() return { "w", "note" } end,
  push = function(ctx, entries) return { { "w", actor.tensor.full({ 2, 3 }, 10) } } end,
  pull = actor.optim.add(),
  stop = function(ctx) return ctx.step >= steps end,
}
if actor.rank == 0 then
  print(("%d steps, w = %g, %d lost"):format(summary.steps, actor.param.get("w"):mean(), summary.lost))
end
"""

LOOP = """
import actorhost, sys
import numpy as np
with actorhost.join(sys.argv[1]) as worker:
    while worker.step():
        values = worker.pull()
        worker.push({"w": np.ones((2, 3), "float32")})
        print("step", worker.steps, flush=True)
print("over:", worker.summary["steps"], worker.summary["reason"])
"""

# Python's exit takes a second, in which the node would release the arrays of the last push.
WITHOUT_CLOSE = """
import actorhost, sys, time
import numpy as np

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(1)

def main():
    worker = actorhost.join(sys.argv[1])
    while worker.step():
        worker.push({"w": np.ones((2, 3), "float32")})
    print(worker.steps, "steps")

slow = Slow()
main()
"""


@skip_without("numpy")
class Steps(Folder):
    def join(self, endpoint, **options):
        worker = actorhost.join(endpoint, **options)
        self.addCleanup(worker._host.close)
        return worker

    def test_a_python_and_a_lua_worker_take_the_steps_of_one_run(self):
        import numpy as np

        run, endpoint = self.coordinator(self.write("job.lua", JOB), "20", nnodes="2")
        worker = self.join(endpoint)
        steps = 0
        while worker.step():
            values = worker.pull()
            self.assertEqual(worker.steps, steps)
            self.assertEqual((worker.id, worker.rank, worker.size), (1, 1, 2))
            self.assertEqual(values["note"], "text")
            self.assertEqual(values["w"].tolist(), np.full((2, 3), 11 * steps).tolist())  # bsp
            worker.push({"w": np.ones((2, 3), "float32")})
            steps += 1
        self.assertEqual(worker.summary["steps"], 20)
        self.assertEqual(worker.summary["reason"], "stop")
        self.assertFalse(worker.step())
        with self.assertRaisesRegex(actorhost.RunError, "pull: the run has ended"):
            worker.pull()
        worker.close()
        self.assertIn("20 steps, w = 220, 0 lost", self.finish(run))

    def test_pull_push_step_in_this_order(self):
        import numpy as np

        run, endpoint = self.coordinator(self.write("job.lua", JOB), "5", nnodes="2")
        with self.join(endpoint) as worker:
            while True:
                worker.pull()
                worker.push({"w": np.zeros((2, 3), "float32")})
                worker.push({"w": np.ones((2, 3), "float32")})  # replaces the first
                if not worker.step():
                    break
        self.assertIn("5 steps, w = 55", self.finish(run))

    def test_a_rule_of_a_file_holds_back_the_worker(self):
        import numpy as np

        self.write("rule.lua", "return function(view) return view.step <= view:min() end\n")
        run, endpoint = self.coordinator("--barrier", "rule.lua", self.write("job.lua", JOB), "8", nnodes="3")
        other = self.python(LOOP, endpoint)
        with self.join(endpoint) as worker:
            while worker.step():
                self.assertLessEqual(abs(worker.pull()["w"][0, 0] - 12 * worker.steps), 12)  # at most a step apart
                worker.push({"w": np.ones((2, 3), "float32")})
        self.assertIn("over: 8 stop", self.finish(other))
        self.assertIn("8 steps, w = 96", self.finish(run))

    def test_wrong_updates_are_errors_of_the_call_and_the_run_goes_on(self):
        import numpy as np

        run, endpoint = self.coordinator(self.write("job.lua", JOB), "3", nnodes="2")
        with self.join(endpoint) as worker:
            self.assertTrue(worker.step())
            for update, kind, text in [
                ({"w": np.ones((3, 2), "float32")}, ValueError, "'w' has the shape 3x2, and its parameter has 2x3"),
                ({"w": np.ones((2, 3), "float64")}, ValueError, "elements of float64, and its parameter has float32"),
                ({"v": np.ones(2, "int32")}, ValueError, "elements of int32, and updates are float32 or float64"),
                ({"w": np.ones((2, 3), "float16")}, ValueError, "float16"),
                ({"w": np.ones((3, 2), "float32").T}, ValueError, "not contiguous"),
                ({"w": None}, ValueError, "'w' is None"), ([1], TypeError, "mapping"),
                ({"w": 1.0}, ValueError, "'w' is a number, and its parameter is a tensor of shape 2x3"),
                ({"w": print}, TypeError, "is a builtin"),
            ]:
                with self.assertRaisesRegex(kind, text):
                    worker.push(update)
            while True:
                worker.push({"w": np.ones((2, 3), "float32")})
                if not worker.step():
                    break
        self.assertIn("3 steps, w = ", self.finish(run))

    def test_all_reduce_report_and_eval(self):
        import numpy as np

        job = self.write("reduce.lua", """
local actor = require "actor"
actor.param.run {
  init = function() return { w = 0 } end,
  schedule_local = function() return { "w" } end,
  push = function() return { { "w", actor.collective.allreduce(actor.tensor.full({ 3 }, 2))[1] } } end,
  stop = function(ctx) return ctx.step >= 2 end,
}
if actor.rank == 0 then print("w", (actor.param.get("w"))) end
""")
        run, endpoint = self.coordinator(job, nnodes="2")
        with self.join(endpoint) as worker:
            while worker.step():
                array = np.full(3, 5, "float32")
                self.assertIs(worker.all_reduce_(array), array)
                self.assertEqual(array.tolist(), [7, 7, 7])
                worker.report("loss", 0.5)
                self.assertEqual(worker.eval("actor.rank + ...", 10), 11)
                with self.assertRaisesRegex(actorhost.LuaError, "chunk:1: no"):
                    worker.eval("error('no')")
                worker.push({"w": 7})
        self.assertIn("w\t7", self.finish(run))

    def test_a_job_without_param_run_hands_its_nodes_over(self):
        import numpy as np

        job = self.write("serve.lua", """
local actor = require "actor"
if actor.program.works() then
  actor.program.serve()
else
  print("sum", actor.collective.allreduce(actor.tensor.ones { 1 })[1])
end
print("after")
""")
        run, endpoint = self.coordinator(job, nnodes="2")
        worker = self.join(endpoint)
        array = np.full(1, 4, "float32")
        worker.all_reduce_(array)
        self.assertEqual(array.tolist(), [5])
        worker.close()
        self.assertIn("sum\t5\nafter", self.finish(run))

    def test_peers(self):
        import numpy as np

        job = self.write("peers.lua", """
local actor = require "actor"
local summary = actor.peer.run {
  init = function() return { w = actor.tensor.zeros { 2 } } end,
  schedule_local = function() return { "w" } end,
  push = function() return { { "w", actor.tensor.ones { 2 } } } end,
  pull = actor.optim.add(),
  stop = function(ctx) return ctx.step >= 6 end,
}
if actor.rank == 0 then print(summary.steps, actor.peer.get("w")[1]) end
""")
        run, endpoint = self.coordinator(job, nnodes="2")
        with self.join(endpoint) as worker:
            while worker.step():
                self.assertEqual(worker.pull()["w"].shape, (2,))
                worker.push({"w": np.ones(2, "float32")})
        self.assertEqual(worker.summary["steps"], 6)
        self.assertIn("6\t12", self.finish(run))


@skip_without("numpy")
class Failures(Folder):
    def test_a_killed_worker_is_a_lost_worker_and_nothing_else(self):
        run, endpoint = self.coordinator(self.write("job.lua", JOB), "150", nnodes="3")
        killed, other = self.python(LOOP, endpoint), self.python(LOOP, endpoint)
        self.wait_for(killed, "step 20\n")
        killed.send_signal(signal.SIGKILL)
        self.assertIn("over: 150 stop", self.finish(other))
        self.assertRegex(self.finish(run), r"150 steps, w = \d+, 1 lost")

    def test_a_worker_without_close_ends_before_python(self):
        job = self.write("job.lua", JOB + "if actor.rank ~= 0 then actor.sleep(0.3) end")
        run, endpoint = self.coordinator(job, "3", nnodes="2")
        worker = self.python(WITHOUT_CLOSE, endpoint)
        self.assertEqual(self.finish(worker), "2 steps\n")
        self.assertIn("3 steps, w = ", self.finish(run))

    def test_an_exception_leaves_the_run_to_the_others(self):
        run, endpoint = self.coordinator(self.write("job.lua", JOB), "60", nnodes="3")
        other = self.python(LOOP, endpoint)
        source = LOOP.replace("values = ", "assert worker.steps < 5; v = ")
        failing = self.start(sys.executable, self.write("fails.py", source), endpoint)
        self.assertIn("AssertionError", self.finish(failing, 1))
        self.assertIn("over: 60 stop", self.finish(other))
        self.assertRegex(self.finish(run), r"60 steps, w = \d+, 1 lost")

    def test_a_lost_run_is_an_error(self):
        run, endpoint = self.coordinator(self.write("job.lua", JOB), "1000000", nnodes="2")
        worker = self.python(LOOP, endpoint)
        self.wait_for(worker, "step 5\n")
        run.send_signal(signal.SIGKILL)
        self.assertRegex(self.finish(worker, 1), "actorhost.*RunError: .*lost")

    def test_an_error_of_the_job_has_its_text(self):
        job = self.write("bad.lua", JOB.replace("ctx.step >= steps", "error('the stop is broken')"))
        run, endpoint = self.coordinator(job, "5", nnodes="2")
        worker = self.python(LOOP, endpoint)
        self.assertRegex(self.finish(worker, 1), "RunError: .*the stop is broken")
        self.finish(run, 1)

    def test_no_run_and_a_wrong_token_are_errors(self):
        worker = actorhost.join("127.0.0.1:9", timeout=0.5)
        with self.assertRaisesRegex(actorhost.RunError, "127.0.0.1:9"):
            worker.step()
        worker.close()
        _, endpoint = self.coordinator(self.write("job.lua", JOB), "5", nnodes="2")
        self.token("other", "f" * 32)
        with self.assertRaisesRegex(actorhost.RunError, "token"):
            actorhost.join(endpoint, token_file="other", timeout=5).step()
        with self.assertRaisesRegex(actorhost.RunError, "HOST:PORT|address"):
            actorhost.join("no address at all").step()

    def test_ctrl_c_ends_a_waiting_worker(self):
        run, endpoint = self.coordinator(self.write("job.lua", JOB), "5", nnodes="3")  # the third host never comes
        worker = self.python(LOOP.replace("with", "print('joins', flush=True)\nwith"), endpoint)
        self.wait_for(worker, "joins")
        worker.send_signal(signal.SIGINT)
        self.assertIn("KeyboardInterrupt", self.finish(worker, -signal.SIGINT))

    def test_many_pulls_need_no_more_memory(self):
        import numpy as np

        job = JOB.replace("{ 2, 3 }", "{ 1000, 100 }")
        run, endpoint = self.coordinator(self.write("big.lua", job), "2000", nnodes="2")
        with actorhost.join(endpoint) as worker:
            used = {}
            update = np.ones((1000, 100), "float32")
            while worker.step():
                worker.pull()
                worker.push({"w": update})
                used[worker.steps] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(used[max(used)] - used[500], 60_000)  # KB; the values of the steps have 600 MB
        self.finish(run)


@skip_without("torch")
class Modules(Folder):
    def test_a_module_of_torch_pulls_and_pushes(self):
        import torch

        job = self.write("module.lua", """
local actor = require "actor"
actor.param.run {
  init = function() return { weight = actor.tensor.full({ 1, 2 }, 3), bias = actor.tensor.zeros { 1 } } end,
  schedule_local = function() return { "weight", "bias" } end,
  push = function() return {} end,
  pull = actor.optim.sgd { lr = 1 },
  stop = function(ctx) return ctx.step >= 3 end,
}
if actor.rank == 0 then print("weight", actor.param.get("weight"):mean()) end
""")
        run, endpoint = self.coordinator(job, nnodes="2")
        model = torch.nn.Linear(2, 1)
        with actorhost.join(endpoint) as worker:
            while worker.step():
                worker.pull(model)
                self.assertEqual(model.weight[0, 0].item(), 3 - worker.steps)
                with self.assertRaisesRegex(ValueError, "no gradient"):
                    worker.push(torch.nn.Linear(2, 1))
                model.zero_grad()
                model(torch.ones(1, 2)).sum().backward()
                worker.push(model)
        self.assertIn("weight\t0", self.finish(run))

    def test_the_training_loop_of_the_example_survives_a_killed_worker(self):
        write_digits(self.path / "digits")
        self.set_variable("ACTORHOST_MNIST", str(self.path / "digits"))
        flags = ["--barrier", "pssp:2:4", "--start-timeout", "200"]
        job = [EXAMPLES / "mnist_server.lua", "--updates", "400", "--lr", "0.2"]
        run, endpoint = self.coordinator(*flags, *job, nnodes="5")
        workers = [self.start(sys.executable, EXAMPLES / "mnist_torch.py", endpoint) for _ in range(4)]
        self.wait_for_steps(endpoint, 60)
        workers[2].send_signal(signal.SIGKILL)
        for worker in workers[:2] + workers[3:]:
            self.assertRegex(self.finish(worker), r"\d+ steps, the last loss ")
        out = self.finish(run)
        self.assertIn("1 workers lost", out)
        self.assertGreater(float(re.search(r"test accuracy: ([0-9.]+)", out).group(1)), 80)


def write_digits(folder):
    """A set in MNIST's files: each class lights another block of the image."""
    import numpy as np

    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for part, n in (("train", 2000), ("t10k", 500)):
        labels = rng.integers(0, 10, n).astype("uint8")
        images = rng.integers(0, 100, (n, 28, 28)).astype("uint8")
        for image, label in zip(images, labels):
            row, column = 10 * (label // 5), 5 * (label % 5)
            image[row:row + 10, column:column + 5] += 120
        head = struct.pack(">IIII", 0x803, n, 28, 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, n) + labels.tobytes())


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
