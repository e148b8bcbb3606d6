"""Hosts of actorhost for the tests of the Python package: programs with their own token, which end with the test."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ["ACTORHOST_BINARY"]
DEADLINE = 120 * float(os.environ.get("ACTORHOST_TEST_PATIENCE", "1"))  # seconds, of each wait


def skip_without(module):
    """Skips the tests of a class without this module of Python."""
    try:
        __import__(module)
    except ImportError:
        return unittest.skip(f"python3-{module.lower()} is not installed")
    return lambda test: test


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Folder(unittest.TestCase):
    """A test with a temporary folder as the current folder, and programs that it ends."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        before = os.getcwd()
        os.chdir(self.path)
        self.addCleanup(os.chdir, before)
        for name, variable in {"config": "XDG_CONFIG_HOME", "run": "XDG_RUNTIME_DIR"}.items():
            (self.path / name).mkdir(mode=0o700)
            self.set_variable(variable, str(self.path / name))
        self.token("config/actorhost/token", "0123456789abcdef" * 2)

    def set_variable(self, name, value):
        """Sets a variable of the environment until the end of the test."""
        before = os.environ.get(name)
        self.addCleanup(lambda: os.environ.pop(name) if before is None else os.environ.update({name: before}))
        os.environ[name] = value

    def token(self, name, text):
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text + "\n")
        (self.path / name).chmod(0o600)

    def write(self, name, text):
        (self.path / name).write_text(text)
        return name

    def start(self, *words):
        """Starts a program in the folder."""
        log = open(self.path / f"log{time.monotonic_ns()}", "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen([str(word) for word in words], stdout=log, stderr=subprocess.STDOUT, text=True)
        process.log = log
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()

    def coordinator(self, *words, nnodes):
        """Starts a run on a free port, with flags and a job; returns the process and its address."""
        endpoint = f"127.0.0.1:{free_port()}"
        return self.start(BINARY, "--nnodes", nnodes, "--rdzv-endpoint", endpoint, "-n", "1", *words), endpoint

    def wait_for_steps(self, endpoint, count):
        """Waits until the workers of a run have taken so many steps together."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            shown = subprocess.run([BINARY, "status", "--attach", endpoint, "--json"], capture_output=True, text=True)
            nodes = json.loads(shown.stdout)["nodes"] if shown.returncode == 0 else []
            if sum(node.get("step", 0) for node in nodes) >= count:
                return
            time.sleep(0.05)
        self.fail(f"the run has not taken {count} steps: {shown.stdout} {shown.stderr}")

    def python(self, source, *words):
        """Starts a program in Python that can import the package."""
        self.write("program.py", source)
        return self.start(sys.executable, "program.py", *words)

    def output(self, process):
        process.log.seek(0)
        return process.log.read()

    def finish(self, process, status=0):
        """Waits for the end of a program; returns its output."""
        try:
            found = process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.fail("the program has not ended: " + self.output(process))
        self.assertEqual(found, status, self.output(process))
        return self.output(process)

    def wait_for(self, process, text):
        """Waits until a program has printed a text."""
        end = time.monotonic() + DEADLINE
        while text not in self.output(process):
            if process.poll() is not None or time.monotonic() > end:
                self.fail(f"'{text}' is missing: " + self.output(process))
            time.sleep(0.02)
