"""The cell magic %%lua of Jupyter and IPython."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, Optional

from ._cluster import Cluster
from ._host import LuaError

_cluster: Optional[Cluster] = None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%lua", add_help=False, exit_on_error=False)
    parser.add_argument("-n", type=int, default=None)
    parser.add_argument("-o", metavar="NAME", default=None)
    parser.add_argument("names", nargs="*")
    return parser


def _of(names: list, space: dict) -> list:
    missing = [name for name in names if name not in space]
    if missing:
        raise NameError(f"%%lua: there is no variable '{missing[0]}'")
    return [space[name] for name in names]


def run_cell(line: str, cell: str, space: dict) -> Any:
    """Runs a cell; see `load_ipython_extension`."""
    global _cluster
    try:
        options = _parser().parse_args(shlex.split(line))
    except (argparse.ArgumentError, SystemExit):
        raise ValueError("usage: %%lua [-n NODES] [-o NAME] [VARIABLE...]") from None
    if _cluster is not None and (_cluster._host.closed or options.n not in (None, _cluster.n)):
        _cluster.close()
        _cluster = None
    if _cluster is None:
        _cluster = Cluster(n=options.n)
    for name, value in zip(options.names, _of(options.names, space)):
        _cluster[name] = value
    try:
        value = _cluster.eval(cell)
    except LuaError as error:
        raise LuaError(str(error)) from None
    if options.o:
        space[options.o] = value
        return None
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext actorhost` adds the magic `%%lua [-n NODES] [-o NAME] [VARIABLE...]`: the cell runs on all nodes of
    one cluster, which stays for the next cells. VARIABLE: variables of Python that become globals of Lua. The value
    of the cell is shown, or with -o assigned to NAME."""
    shell.register_magic_function(lambda line, cell: run_cell(line, cell, shell.user_ns), "cell", "lua")
