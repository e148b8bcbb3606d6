"""This process as a worker of a run."""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Union

from . import _library as c
from ._host import Host, LuaError, RunError
from ._values import copy_into, is_array

Key = Union[str, int, float]


def _named(source: Any, what: str) -> Mapping[Key, Any]:
    """The arrays of a mapping, or the parameters of a module of PyTorch."""
    if isinstance(source, Mapping):
        return source
    if hasattr(source, "named_parameters"):
        return dict(source.named_parameters())
    raise TypeError(f"{what} takes a mapping or a module of PyTorch, not a {type(source).__name__}")


def _gradients(module: Any) -> Dict[Key, Any]:
    found = {name: parameter.grad for name, parameter in module.named_parameters() if parameter.requires_grad}
    missing = [name for name, gradient in found.items() if gradient is None]
    if missing:
        raise ValueError(f"push: {', '.join(missing)} has no gradient; call loss.backward() first")
    return {name: gradient if gradient.is_contiguous() else gradient.contiguous() for name, gradient in found.items()}


class Worker:
    """A worker of a run: `join` makes it. Its steps obey the barrier rule of the run, and the run treats it as a
    worker in Lua: its failure, the console, the page.

        with actorhost.join("10.0.0.1:17871") as worker:
            while worker.step():
                weights = worker.pull()
                worker.push(gradients(weights))

    The job's script runs on this worker too. Where the script's `param.run` or `peer.run` calls `push`, the program
    does the step instead. In a job without these, `require("actor").program.serve()` hands the worker to the program.
    """

    def __init__(self, host: Host, endpoint: str):
        self._host = host
        weakref.finalize(self, host.close)
        self._endpoint = endpoint
        self._begun = False
        self._serves = False  # the script has handed the node over, without steps
        self.steps: int = 0
        self.id: Optional[int] = None
        self.rank: Optional[int] = None
        self.size: Optional[int] = None
        self.summary: Optional[Dict[str, Any]] = None
        """What the run returned (`steps`, `updates`, `reason`, ...), after `step` has returned False."""

    def _call(self, source: str, *arguments: Any, name: str = "=python") -> Any:
        try:
            return self._host.call(source, arguments, name)
        except LuaError as error:
            raise ValueError(str(error).removeprefix("python:1: ")) from None

    def _begin(self) -> bool:
        """Waits for the barrier rule; False at the end of the run."""
        if self._begun:
            return True
        try:
            place = self._host.call("require('actor').program.begin()")
        except RunError as error:
            if not error._ended:
                raise
            if error._summary is None:
                self._host.wait()  # raises the run's own error
            self.summary = error._summary
            return False
        self._serves = place is None
        if place:
            self.steps, self.id, self.rank, self.size = (place[name] for name in ("step", "id", "rank", "size"))
        self._begun = True
        return True

    def _require_step(self, call: str) -> None:
        if not self._begin():
            raise RunError(f"{call}: the run has ended; `step` returns False then")

    def step(self) -> bool:
        """Ends the present step, if it has begun: sends its updates. Then waits until the rule lets this worker begin
        its next step. Returns False when the run has ended. Raises RunError if the run has failed."""
        if self._begun:
            self._begun = False
            try:
                self._host.call("require('actor').program.finish()")
            except RunError as error:
                if not error._ended:
                    raise
        return self._begin()

    def pull(self, into: Any = None) -> Dict[Key, Any]:
        """The values of the present step by key: those that the job's `schedule` or `schedule_local` has named.
        Begins the first step. Arrays are this worker's own, and no copy is made.

        into: a mapping of arrays, or a module of PyTorch; its arrays or parameters receive the values of the same keys.
        """
        self._require_step("pull")
        values = {key: value for key, value in self._call("require('actor').program.pull()")}
        if into is not None:
            for name, target in _named(into, "pull").items():
                if name in values and is_array(values[name]):
                    copy_into(target, values[name], str(name))
        return values

    def push(self, updates: Any) -> None:
        """Adds updates by key to the present step: a mapping, or a module of PyTorch with gradients. The worker sends
        them at the end of the step; do not change the arrays before. A second update of a key replaces the first.
        Raises ValueError or TypeError for an array of another shape or type than its parameter; the run goes on
        then."""
        self._require_step("push")
        found = updates if isinstance(updates, Mapping) else None
        if found is None and hasattr(updates, "named_parameters"):
            found = _gradients(updates)
        if found is None:
            raise TypeError(f"push takes a mapping or a module of PyTorch, not a {type(updates).__name__}")
        for key, value in found.items():
            if value is None:
                raise ValueError(f"push: the update of '{key}' is None")
        self._call("require('actor').program.update(...)", [[key, value] for key, value in found.items()])

    def all_reduce_(self, array: Any, op: str = "sum") -> Any:
        """Replaces the array (of NumPy or PyTorch) by the combination of the arrays of all workers: "sum", "mean",
        "min", "max" or "prod". All workers must call it, in the same order. Returns the array."""
        if not is_array(array):
            raise TypeError(f"all_reduce_ takes an array of NumPy or a tensor of PyTorch, not a {type(array).__name__}")
        self._require_step("all_reduce_")
        chunk = "local array, op = ... return assert(require('actor').collective.allreduce(array, op))"
        result = self._call(chunk, array, op)
        copy_into(array, result, "array")
        return array

    def report(self, name: str, value: float, step: Optional[int] = None) -> None:
        """Reports a number, such as the loss, to the page and the metrics of the run."""
        self._require_step("report")
        self._call("require('actor').report(...)", name, float(value), *([] if step is None else [step]))

    def eval(self, source: str, *arguments: Any) -> Any:
        """Runs a chunk of Lua on this worker, within its present step; as Cluster.eval."""
        self._require_step("eval")
        return self._host.call(source, arguments, "=chunk")

    def close(self) -> None:
        """Leaves the run; after its end, waits until the worker's script has ended. A worker that leaves before the end
        counts as lost, and the others go on. Where a script has called `serve`, the script goes on to its end."""
        if self._host.closed:
            return
        try:
            if self._begun and self._serves:
                self._host.call("require('actor').program.finish()")
                self._host.wait()
            elif self.summary is not None:
                self._host.wait()
        finally:
            self._host.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._host.close()

    def __repr__(self) -> str:
        return f"<actorhost.Worker of the run at {self._endpoint}, rank {self.rank}, {self.steps} steps>"


def join(endpoint: str, *, token_file: Optional["str | os.PathLike[str]"] = None, timeout: float = 60,
         functions: Optional[Mapping[str, Callable]] = None, flags: Iterable[str] = ()) -> Worker:
    """Makes this process a worker of the run at an address "HOST:PORT", as `actorhost agent --join` does with one node.

    Returns at once; the first call waits for the start of the run. token_file: the token of the run (default: the
    token of this user). timeout: seconds to wait for the run. functions, flags: as for Cluster.
    """
    words = ["agent", "--join", endpoint, "-n", "1", "--log-level", "warn", "--start-timeout", str(timeout)]
    if token_file is not None:
        words += ["--token-file", os.fspath(token_file)]
    return Worker(Host(c.WORKER, [*words, *flags], functions), endpoint)
