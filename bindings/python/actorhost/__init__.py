"""actorhost from Python: workers in Python for runs of actorhost, clusters in a notebook, and the barrier simulator.

    import actorhost

    worker = actorhost.join("10.0.0.1:17871")            # this process is a worker of a run
    cluster = actorhost.Cluster(n=4)                     # a cluster in this process
    table = actorhost.sim(barrier=["bsp", "asp"])        # simulated workers under barrier rules

The package loads libactorhost.so by ctypes. It needs NumPy for arrays only, and PyTorch for nothing: tensors of both
share their memory with Lua.
"""

from ._cluster import Cluster
from ._host import Error, LuaError, RunError
from ._library import lib as _lib
from ._notebook import load_ipython_extension
from ._simulator import sim
from ._worker import Worker, join

__version__: str = _lib.ah_version().decode()
__all__ = ["Cluster", "Error", "LuaError", "RunError", "Worker", "join", "load_ipython_extension", "sim"]
