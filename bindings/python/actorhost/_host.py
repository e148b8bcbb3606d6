"""A host of actorhost in this process, and its calls into Lua."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import traceback
from typing import Any, Callable, List, Mapping, Optional, Sequence

from . import _library as c
from ._library import lib
from ._values import Values, to_python

_SLICE = 0.1  # seconds between two looks at Ctrl-C, output and progress
_OVERDUE = 2.0  # seconds from Ctrl-C until Python no longer waits for the chunk


class Error(Exception):
    """A failure of actorhost."""


class LuaError(Error):
    """Lua raised an error, or a chunk does not parse. The text has the place in the Lua source."""


class RunError(Error):
    """The run has failed or cannot be joined, or it has ended and takes no more calls."""

    _ended = False  # a call found that the run has ended
    _summary: Optional[dict] = None  # what the ended run's param.run or peer.run returned, if the worker was in one


def _check(status: int) -> None:
    if status == c.OK:
        return
    text = c.error_text()
    if status == c.BAD_ARGUMENT:
        raise ValueError(text)
    if status == c.SCRIPT:
        raise LuaError(text)
    if status == c.INTERRUPTED:
        raise KeyboardInterrupt(text)
    if status == c.MEMORY:
        raise MemoryError(text)
    error = RunError(text)
    error._ended = status == c.ENDED
    raise error


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""


def _callback(function: Callable) -> Any:
    @c.Function
    def call(_data, frame, arguments, count):
        try:
            result = function(*[to_python(arguments[i]) for i in range(count)])
            values = Values([result], "the result")
            if lib.ah_return(frame, values.array) != c.OK:
                lib.ah_raise(frame, c.error_text().encode())
        except BaseException as error:  # every exception becomes an error of Lua
            text = f"{type(error).__name__}: {error}{_place(error)}"
            lib.ah_raise(frame, text.encode("utf-8", "backslashreplace"))

    return call


class _Progress:
    """The line of progress on standard error, in a terminal or a notebook."""

    def __init__(self, host, wanted: bool):
        self._host, self._wanted, self._drawn = host, wanted, ""
        stream = sys.stderr
        self._shows = wanted and (getattr(stream, "isatty", lambda: False)() or "ipykernel" in sys.modules)

    def show(self) -> None:
        if self._shows:
            self.draw(lib.ah_host_progress(self._host).decode("utf-8", "replace"))

    def draw(self, text: str) -> None:
        if text == self._drawn:
            return
        sys.stderr.write("\r" + text.ljust(len(self._drawn)) + ("\r" if not text else ""))
        sys.stderr.flush()
        self._drawn = text


_kept: List[Any] = []  # the functions of all hosts: a node that cannot be stopped may still call them


class Host:
    """A host that runs until `close`. Its owner closes it when the owner is collected, and at the exit of Python: the
    host's threads must not call Python after its end."""

    def __init__(self, work: int, flags: Sequence[str], functions: Optional[Mapping[str, Callable]] = None,
                 progress: bool = True):
        self._process = os.getpid()
        self._pointer = lib.ah_host_new()
        if not self._pointer:
            raise MemoryError(c.error_text())
        self._progress = progress
        self._functions = {name: _callback(function) for name, function in (functions or {}).items()}
        _kept.append(self._functions)
        try:
            for name, function in self._functions.items():
                _check(lib.ah_host_function(self._pointer, name.encode(), function, None))
            words = [os.fsencode(flag) for flag in flags]
            _check(lib.ah_host_start(self._pointer, work, (ctypes.c_char_p * len(words))(*words), len(words)))
        except BaseException:
            self.close()
            raise

    @property
    def closed(self) -> bool:
        return not self._pointer

    def call(self, source: str, arguments: Sequence[Any] = (), name: str = "=python", ranks: int = 0,
             output: bool = True) -> Any:
        """Runs a chunk; returns its values on rank 0, or with `ranks` a list of the values of each rank."""
        if self.closed:
            raise RunError("it has been closed")
        values = Values(arguments)
        data = source.encode() if isinstance(source, str) else source
        if b"\0" in data:
            values.release()
            raise ValueError("the chunk has a zero byte")
        call = lib.ah_call_new(self._pointer, data, os.fsencode(name), values.array, values.count)
        if not call:
            text = c.error_text()
            self._check_process()
            raise ValueError(text)
        try:
            try:
                self._wait(call, output)
            except RunError as error:
                found = self._values(call, 0) if error._ended else None
                error._summary = found[0] if found else None
                raise
            found = [_single(self._values(call, rank)) for rank in range(ranks or 1)]
            return found if ranks else found[0]
        finally:
            lib.ah_call_free(call)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RunError(c.error_text())

    def _wait(self, call, output: bool) -> None:
        progress = _Progress(self._pointer, self._progress)
        try:
            while True:
                status = lib.ah_call_wait(call, _SLICE)
                self._show_output(call, output)
                if status != c.PENDING:
                    lib.ah_call_wait(call, 0)  # sets the text of the error again
                    break
                progress.show()
        except KeyboardInterrupt:
            lib.ah_call_interrupt(call)
            deadline = time.monotonic() + _OVERDUE
            while lib.ah_call_wait(call, _SLICE) == c.PENDING and time.monotonic() < deadline:
                pass
            self._show_output(call, output)
            raise
        finally:
            progress.draw("")
        _check(status)

    @staticmethod
    def _show_output(call, output: bool) -> None:
        size = ctypes.c_size_t()
        address = lib.ah_call_output(call, size)
        if size.value and output:
            sys.stdout.write(ctypes.string_at(address, size.value).decode("utf-8", "replace"))

    @staticmethod
    def _values(call, rank: int) -> list:
        count = ctypes.c_size_t()
        values = lib.ah_call_values(call, rank, count)
        return [to_python(values[i]) for i in range(count.value)]

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Waits for the end of the run; False if it goes on after `seconds`. Raises RunError if the run has failed."""
        end = None if seconds is None else time.monotonic() + seconds
        progress = _Progress(self._pointer, self._progress)
        try:
            while True:
                left = _SLICE if end is None else max(0.0, min(_SLICE, end - time.monotonic()))
                status = lib.ah_host_poll(self._pointer, left, None)
                if status != c.PENDING:
                    break
                if end is not None and time.monotonic() >= end:
                    return False
                progress.show()
        finally:
            progress.draw("")
        if status == c.INTERRUPTED:
            raise RunError(c.error_text())
        _check(status)
        return True

    def interrupt(self) -> None:
        """Ends the run as Ctrl-C does; a host that has joined a run leaves it."""
        if not self.closed:
            lib.ah_host_interrupt(self._pointer)

    def close(self) -> None:
        """Ends the run and frees the host."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            lib.ah_host_free(pointer)


def _single(values: list) -> Any:
    """The value of a chunk; None without a value, a tuple of several."""
    return None if not values else values[0] if len(values) == 1 else tuple(values)
