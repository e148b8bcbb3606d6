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
    """A worker of a run; `join` makes it. Its steps wait for the run's barrier rule. The run shows it in the console
    and on the page, and treats its failure, as those of a worker in Lua.

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
        """The result of the run (`steps`, `updates`, `reason`, ...), after `step` has returned False."""

    def _call(self, source: str, *arguments: Any, name: str = "=python") -> Any:
        try:
            return self._host.call(source, arguments, name)
        except LuaError as error:
            raise ValueError(str(error).removeprefix("python:1: ")) from None

    def _begin(self) -> bool:
        """Waits until the barrier rule lets the worker begin its step. Returns False at the end of the run."""
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
        """Ends the present step, if it has begun, and sends its updates. Then waits until the barrier rule lets this
        worker begin its next step. Returns False when the run has ended. Raises RunError if the run has failed."""
        if self._begun:
            self._begun = False
            try:
                self._host.call("require('actor').program.finish()")
            except RunError as error:
                if not error._ended:
                    raise
        return self._begin()

    def pull(self, into: Any = None) -> Dict[Key, Any]:
        """Returns the values of the present step by key. The job's `schedule` or `schedule_local` chooses the keys.
        Before the first step, begins it. The arrays share their memory with Lua on this worker only.

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
        them at the end of the step; do not change the arrays before that. A second update of a key replaces the first.
        Raises ValueError or TypeError if the shape or type of an array differs from its parameter's; the run
        continues."""
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
        """Combines the arrays of all workers by "sum", "mean", "min", "max" or "prod", element by element, and writes
        the result into `array` (of NumPy or PyTorch). All workers must call it, in the same order. Returns `array`."""
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
        """Runs a chunk of Lua on this worker, within its present step. Returns values as Cluster.eval does."""
        self._require_step("eval")
        return self._host.call(source, arguments, "=chunk")

    def close(self) -> None:
        """Leaves the run. After the end of the run, waits for the end of the worker's script. A worker that leaves
        earlier counts as lost, and the others continue. If the script has called `serve`, ends `serve` and waits for
        the end of the script."""
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
    """Makes this process a worker of the run at "HOST:PORT", with one node, as `actorhost agent --join` does.

    Returns at once; the first call of the worker waits for the start of the run. token_file: the token of the run
    (default: the token of this user). timeout: seconds to wait for the run. functions, flags: as for Cluster.
    """
    words = ["agent", "--join", endpoint, "-n", "1", "--log-level", "warn", "--start-timeout", str(timeout)]
    if token_file is not None:
        words += ["--token-file", os.fspath(token_file)]
    return Worker(Host(c.WORKER, [*words, *flags], functions), endpoint)
