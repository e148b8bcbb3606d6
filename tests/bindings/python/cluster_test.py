"""actorhost.Cluster: values, errors, interrupts."""

import gc
import os
import pathlib
import signal
import sys
import threading
import time
import unittest

import actorhost
from hosts import Folder, skip_without


class Values(Folder):
    def setUp(self):
        super().setUp()
        self.cluster = actorhost.Cluster(n=2)
        self.addCleanup(self.cluster.close)

    def test_values_of_lua_become_values_of_python(self):
        for source, wanted in {
            "1 + 1": 2, "1.5": 1.5, "2^60": 2.0**60, "true": True, "nil": None, "'ä'": "ä", "'\\255'": b"\xff",
            "{1, 2}": [1, 2], "{}": [], "{a = 1, [2] = {b = false}}": {"a": 1, 2: {"b": False}}, "7LL": 7,
            "return 1, 'two'": (1, "two"), "local x = 1": None, "return": None, "9007199254740993LL": 9007199254740993,
        }.items():
            found = self.cluster.eval(source)
            self.assertEqual(found, wanted, source)
            self.assertIs(type(found), type(wanted), source)

    def test_values_of_python_become_values_of_lua(self):
        for value, kind in {
            None: "nil", True: "boolean", 7: "number", 0.5: "number", "ä": "string", b"\0\xff": "string",
            2**62: "cdata", (1, 2): "table",
        }.items():
            self.assertEqual(self.cluster.eval("return type(...)", value), kind)
        back = {"list": [1, [2, 3]], "map": {"x": None, 3: "y"}, "big": 2**62}
        del back["map"]["x"]
        self.assertEqual(self.cluster.eval("return ...", back), back)

    def test_wrong_arguments_are_refused_by_name(self):
        for value, kind, text in [
            (object(), TypeError, "argument is a object; Lua takes None, bool"),
            ({"a": [1, 1j]}, TypeError, r"argument\['a'\]\[1\] is a complex"),
            (2**63, OverflowError, "64 bits"), ([1, None, 2], ValueError, "no holes"),
            ({None: 1}, ValueError, "a key other than"),
        ]:
            with self.assertRaisesRegex(kind, text):
                self.cluster.eval("return ...", value)

    def test_each_node_returns_its_value(self):
        self.assertEqual(self.cluster.eval_all("actor.rank"), [0, 1])
        self.assertEqual(
            self.cluster.eval_all("actor.collective.allreduce(actor.tensor.full({1}, actor.rank))[1]"), [1, 1])

    def test_globals_stay(self):
        self.cluster["x"] = [1, 2]
        self.assertEqual(self.cluster.eval_all("#x"), [2, 2])
        self.cluster.eval("y = x[2] * 10")
        self.assertEqual(self.cluster["y"], 20)
        self.assertIsNone(self.cluster["missing"])

    def test_files_run_as_chunks(self):
        self.write("job.lua", "#!/usr/bin/env actorhost\nlocal n = ...\nlocal part = require 'part'\n"
                              "return actor.collective.allreduce(actor.tensor.full({ 1 }, part.f(n)))[1]\n")
        self.write("part.lua", "return { f = function(n) return n * 2 end }\n")
        self.assertEqual(self.cluster.run("job.lua", 3), 12)
        self.write("bad.lua", "local x = 1\nreturn nil + x\n")
        with self.assertRaisesRegex(actorhost.LuaError, "bad.lua:2: attempt to perform arithmetic"):
            self.cluster.run(pathlib.Path("bad.lua"))
        with self.assertRaises(FileNotFoundError):
            self.cluster.run("none.lua")

    def test_errors_have_the_line_and_the_next_chunk_runs(self):
        with self.assertRaisesRegex(actorhost.LuaError, r"chunk:2: boom"):
            self.cluster.eval("local x\nerror('boom')")
        with self.assertRaisesRegex(actorhost.LuaError, r"value\.f is a function"):
            self.cluster.eval("{f = print}")
        with self.assertRaisesRegex(actorhost.LuaError, "here"):
            self.cluster.eval("if actor.rank == 1 then error('here') end actor.collective.barrier()")
        self.assertEqual(self.cluster.eval("actor.collective.allreduce(actor.tensor.ones { 1 })[1]"), 2)

    def test_engines_run_in_chunks(self):
        summary = self.cluster.eval("""
          return actor.param.run {
            init = function() return { w = 0 } end,
            schedule_local = function() return { "w" } end,
            push = function(ctx, entries) return { { "w", entries[1][2] + 1 } } end,
            stop = function(ctx) return ctx.step >= 5 end,
          }""")
        self.assertEqual(summary["steps"], 5)
        self.assertEqual(self.cluster.eval("actor.mapreduce.range(1, 5):sum()"), 15)

    def test_a_closed_cluster_refuses_calls(self):
        self.cluster.close()
        self.cluster.close()
        with self.assertRaisesRegex(actorhost.RunError, "closed"):
            self.cluster.eval("1")
        self.assertEqual(repr(self.cluster), "<actorhost.Cluster, closed>")

    def test_two_clusters_are_apart(self):
        with actorhost.Cluster(n=1) as other:
            other["x"] = 5
            self.assertIsNone(self.cluster["x"])
            self.assertEqual(other.eval("x + actor.size"), 6)


class Functions(unittest.TestCase):
    def test_lua_calls_functions_of_python(self):
        def divide(a, b):
            return a / b

        with actorhost.Cluster(n=2, functions={"divide": divide, "odd": lambda: object()}) as cluster:
            self.assertEqual(cluster.eval_all("require('host').divide(actor.rank + 1, 2)"), [0.5, 1])
            with self.assertRaisesRegex(actorhost.LuaError, r"chunk:2: ZeroDivisionError: .*cluster_test.py:\d+"):
                cluster.eval("\nlocal x = require('host').divide(1, 0)")
            with self.assertRaisesRegex(actorhost.LuaError, "the result is a object"):
                cluster.eval("require('host').odd()")


class Starts(Folder):
    def test_wrong_flags_are_errors(self):
        with self.assertRaisesRegex(actorhost.RunError, "--no-such-flag"):
            actorhost.Cluster(n=1, flags=["--no-such-flag"])
        with self.assertRaisesRegex(actorhost.RunError, "out of range"):
            actorhost.Cluster(n=0)

    def test_a_launcher_around_the_notebook_does_not_matter(self):
        program = self.python("""
import actorhost, os
os.environ.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="9")
with actorhost.Cluster(n=2) as c:
    print(c.eval("actor.size"))
""")
        self.assertEqual(self.finish(program), "2\n")

    def test_a_fork_is_refused(self):
        program = self.python("""
import actorhost, os
c = actorhost.Cluster(n=1)
if os.fork() == 0:
    try:
        c.eval("1")
    except actorhost.RunError as error:
        print("refused:", error, flush=True)
    os._exit(0)
os.wait()
print(c.eval("1 + 1"))
""")
        out = self.finish(program)
        self.assertRegex(out, "refused: this process is a fork of process .* after the fork")
        self.assertTrue(out.endswith("2\n"), out)

    def test_a_program_ends_without_close(self):
        program = self.python("import actorhost\nc = actorhost.Cluster(n=2)\nprint(c.eval('actor.size'))\n")
        self.assertEqual(self.finish(program), "2\n")

    def test_output_is_that_of_the_program(self):
        program = self.python("""
import actorhost, contextlib, io
kept = io.StringIO()
with actorhost.Cluster(n=2) as c, contextlib.redirect_stdout(kept):
    c.eval("print('hello from rank ' .. actor.rank)")
print(repr(kept.getvalue()))
""")
        self.assertEqual(self.finish(program), "'hello from rank 0\\n'\n")


class Interrupts(Folder):
    def test_ctrl_c_ends_a_chunk_and_not_the_cluster(self):
        with actorhost.Cluster(n=2) as cluster:
            for source in ("while true do end", "actor.sleep(1000)", "local n = 0 for i = 1, 1e18 do n = n + i end"):
                timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
                timer.start()
                begun = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    cluster.eval(source)
                self.assertLess(time.monotonic() - begun, 10)
                timer.join()
                self.assertEqual(cluster.eval("1"), 1)


@skip_without("numpy")
class Arrays(unittest.TestCase):
    def setUp(self):
        self.cluster = actorhost.Cluster(n=1)
        self.addCleanup(self.cluster.close)

    def test_arrays_keep_type_shape_and_memory(self):
        import numpy as np

        for dtype in ("float32", "float64", "int32", "int64", "uint8", "bool"):
            for shape in ((), (3,), (2, 3), (2, 0), (1, 1, 4)):
                array = np.ones(shape, dtype)
                back = self.cluster.eval("return ...", array)
                self.assertEqual((back.dtype, back.shape), (array.dtype, array.shape))
                self.assertTrue((back == array).all())
                if array.size:
                    self.assertEqual(back.ctypes.data, array.ctypes.data)
        array = np.zeros(4, "float32")
        self.cluster.eval("local t = ... t:fill_(7)", array)
        self.assertEqual(array.tolist(), [7] * 4)

    def test_arrays_outlive_the_cluster(self):
        with actorhost.Cluster(n=1) as cluster:
            array = cluster.eval("actor.tensor.arange(1, 1001)")
        gc.collect()
        self.assertEqual(array.sum(), 500500)
        array[0] = 5

    def test_wrong_arrays_are_refused(self):
        import numpy as np

        for array, kind, text in [
            (np.zeros((3, 4)).T, ValueError, "not contiguous; pass numpy.ascontiguousarray"),
            (np.zeros(3, "complex64"), ValueError, "elements of complex64; expected float32"),
            (np.zeros(3, "float16"), ValueError, "elements of float16"),
            (np.zeros(3, "uint16"), ValueError, "elements of uint16"),
            (np.zeros(3, ">f4"), TypeError, "byte order"),
            (np.array(["a"]), TypeError, "elements of <U1"),
            (np.array([object()]), TypeError, "elements of object"),
        ]:
            with self.assertRaisesRegex(kind, text):
                self.cluster.eval("return ...", array)
        for shape in [(0,), (0, 3), (5, 0), (3, 0, 2)]:
            self.assertEqual(self.cluster.eval("return (...).shape", np.zeros(shape)), list(shape))
        read_only = np.frombuffer(bytes(16), "float64")
        self.cluster.eval("local x = ... x:fill_(7)", read_only)
        self.assertEqual(read_only.tolist(), [0, 0])
        self.assertEqual(self.cluster.eval("return ...", np.float32(0.5)), 0.5)
        self.assertEqual(self.cluster.eval("return ...", np.int64(3)), 3)

    def test_arrays_are_released(self):
        import numpy as np

        from actorhost import _values

        before = len(_values._lent)
        for _ in range(100):
            self.cluster.eval("return (...):sum()", np.ones(1000))
        self.cluster.eval("collectgarbage() collectgarbage()")
        gc.collect()
        self.assertEqual(len(_values._lent), before)
        with self.assertRaises(TypeError):
            self.cluster.eval("return ...", np.ones(3), object())
        self.assertEqual(len(_values._lent), before)

    def test_sim_is_a_table(self):
        import numpy as np

        table = actorhost.sim(barrier=["bsp", "asp"], nodes=20, time=20, seed=[1, 2])
        self.assertEqual(table["barrier"], ["bsp", "bsp", "asp", "asp"])
        self.assertEqual(table["seed"].tolist(), [1, 2, 1, 2])
        self.assertIsInstance(table["mean_step"], np.ndarray)
        self.assertGreater(table["mean_step"][2], table["mean_step"][0])
        again = actorhost.sim(barrier=["bsp", "asp"], nodes=20, time=20, seed=[1, 2])
        self.assertEqual(again["updates"].tolist(), table["updates"].tolist())
        with self.assertRaisesRegex(actorhost.LuaError, "nodez"):
            actorhost.sim(barrier="bsp", nodez=3)
        with self.assertRaisesRegex(TypeError, "barrier"):
            actorhost.sim(nodes=3)


@skip_without("torch")
class Tensors(unittest.TestCase):
    def test_tensors_of_torch_share_memory(self):
        import torch

        with actorhost.Cluster(n=1) as cluster:
            tensor = torch.ones(2, 3, requires_grad=True)
            cluster.eval("local t = ... t:mul_(3)", tensor)
            self.assertEqual(tensor.sum().item(), 18)
            for value, kind, text in [
                (torch.ones(2, 3).T, ValueError, r"not contiguous; pass tensor.contiguous\(\)"),
                (torch.ones(2, dtype=torch.bfloat16), ValueError, "bfloat16"),
                (torch.ones(2, 2).to_sparse(), TypeError, "elements of"),
            ]:
                with self.assertRaisesRegex(kind, text):
                    cluster.eval("return ...", value)


@skip_without("IPython")
class Magic(unittest.TestCase):
    def test_cells_of_lua(self):
        from IPython.core.interactiveshell import InteractiveShell

        shell = InteractiveShell.instance(colors="NoColor")
        shell.run_line_magic("load_ext", "actorhost")
        self.assertEqual(shell.run_cell("%%lua -n 2\nx = actor.size\nreturn x").result, 2)
        self.assertEqual(shell.run_cell("y = 20\n").result, None)
        self.assertEqual(shell.run_cell("%%lua y\nx + y").result, 22)
        shell.run_cell("%%lua -o z\nreturn x * 2")
        self.assertEqual(shell.user_ns["z"], 4)
        self.assertIsInstance(shell.run_cell("%%lua\nerror('no')").error_in_exec, actorhost.LuaError)
        self.assertIsInstance(shell.run_cell("%%lua missing\n1").error_in_exec, NameError)
        self.assertIsInstance(shell.run_cell("%%lua -n x\n1").error_in_exec, ValueError)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
