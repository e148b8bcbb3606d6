"""A cluster in this process."""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Iterable, Mapping, Optional

from . import _library as c
from ._host import Host


class Cluster:
    """A cluster of `n` nodes (threads of this process), which run each chunk of Lua together.

        with actorhost.Cluster(n=4) as cluster:
            cluster.eval("actor.collective.allreduce(actor.tensor.full({3}, actor.rank))")   # array([6., 6., 6.])

    Pipelines, collectives, `param.run` and `peer.run` work in a chunk, as at the prompt of `actorhost repl`. The
    modules of the library need no `require`. Globals of Lua stay between chunks. Ctrl-C interrupts a chunk.

    n: the number of nodes; default: one for each core. seed: of the random numbers. functions: functions of Python for
    Lua, which calls them as `require("host").NAME(...)`. flags: more flags of the command line (`actorhost --help`).
    progress: show the progress of long chunks on standard error.
    """

    def __init__(self, n: Optional[int] = None, *, seed: Optional[int] = None,
                 functions: Optional[Mapping[str, Callable]] = None, flags: Iterable[str] = (), progress: bool = True):
        words = ["-n", "auto" if n is None else str(n), "--log-level", "warn"]
        if seed is not None:
            words += ["--seed", str(seed)]
        self._host = Host(c.CONSOLE, [*words, *flags], functions, progress)
        weakref.finalize(self, self._host.close)
        try:
            self.n: int = self.eval("actor.size")
        except BaseException:
            self.close()
            raise

    def eval(self, source: str, *arguments: Any) -> Any:
        """Runs a chunk of Lua, an expression or statements with `return`, on all nodes; returns its value on rank 0.

        The arguments are the chunk's `...`. Arrays of NumPy and tensors of PyTorch are passed without a copy, and all
        nodes share them. Several values are a tuple. Raises LuaError with the place in the chunk, RunError if the
        cluster has ended, TypeError or ValueError for an argument that Lua cannot take.
        """
        return self._host.call(source, arguments, "=chunk")

    def eval_all(self, source: str, *arguments: Any) -> list:
        """As `eval`; returns a list of the values of all nodes, by rank."""
        return self._host.call(source, arguments, "=chunk", ranks=self.n)

    def run(self, path: "str | os.PathLike[str]", *arguments: Any) -> Any:
        """Runs a file of Lua on all nodes; returns its values as `eval` does. Errors name the file and its line.
        Modules of the file are searched in the folder that was the current folder when the cluster began."""
        with open(path, "rb") as file:
            source = file.read()
        if source.startswith(b"#"):
            source = b"--" + source
        return self._host.call(source, arguments, "@" + os.fspath(path))

    def __getitem__(self, name: str) -> Any:
        """A global of rank 0."""
        return self._host.call("local name = ... return rawget(_G, name)", [name], "=chunk")

    def __setitem__(self, name: str, value: Any) -> None:
        """Sets a global on all nodes."""
        self._host.call("local name, value = ... rawset(_G, name, value)", [name, value], "=chunk")

    def close(self) -> None:
        """Ends the cluster. Arrays from it stay valid."""
        self._host.close()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<actorhost.Cluster, closed>" if self._host.closed else f"<actorhost.Cluster of {self.n} nodes>"
