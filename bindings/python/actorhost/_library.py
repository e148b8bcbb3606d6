"""libactorhost.so by ctypes: its structs and functions, as actorhost.h declares them."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64
from ctypes import c_void_p

ABI_VERSION = 1
OK, PENDING, BAD_ARGUMENT, SCRIPT, FAILED, ENDED, INTERRUPTED, FORKED, MEMORY = range(9)
NIL, BOOLEAN, NUMBER, INTEGER, TEXT, LIST, MAP, TENSOR = range(8)
JOB, CONSOLE, WORKER = range(3)


class Tensor(ctypes.Structure):
    """DLManagedTensor of DLPack."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
    ]


class Value(ctypes.Structure):
    """ah_value."""


Value._fields_ = [
    ("type", c_int32),
    ("boolean", c_int32),
    ("number", c_double),
    ("integer", c_int64),
    ("text", c_void_p),
    ("items", POINTER(Value)),
    ("size", c_size_t),
    ("tensor", POINTER(Tensor)),
]

Deleter = ctypes.CFUNCTYPE(None, c_void_p)
Function = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Value), c_size_t)

_SIGNATURES = {
    "ah_abi_version": (c_uint32, []),
    "ah_version": (c_char_p, []),
    "ah_error": (c_char_p, []),
    "ah_host_new": (c_void_p, []),
    "ah_host_function": (c_int, [c_void_p, c_char_p, Function, c_void_p]),
    "ah_host_start": (c_int, [c_void_p, c_int, POINTER(c_char_p), c_size_t]),
    "ah_host_poll": (c_int, [c_void_p, c_double, POINTER(c_int)]),
    "ah_host_progress": (c_char_p, [c_void_p]),
    "ah_host_interrupt": (c_int, [c_void_p]),
    "ah_host_free": (None, [c_void_p]),
    "ah_call_new": (c_void_p, [c_void_p, c_char_p, c_char_p, POINTER(Value), c_size_t]),
    "ah_call_wait": (c_int, [c_void_p, c_double]),
    "ah_call_output": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "ah_call_values": (POINTER(Value), [c_void_p, c_uint32, POINTER(c_size_t)]),
    "ah_call_interrupt": (c_int, [c_void_p]),
    "ah_call_free": (None, [c_void_p]),
    "ah_return": (c_int, [c_void_p, POINTER(Value)]),
    "ah_raise": (None, [c_void_p, c_char_p]),
}

_NAME = "libactorhost.so.1"


def _candidates():
    chosen = os.environ.get("ACTORHOST_LIBRARY")
    if chosen:
        return [chosen]
    beside = []
    for folder in pathlib.Path(__file__).resolve().parents:
        # Installed as lib/python3/dist-packages/actorhost, or in the tree, whose build is in build/PRESET.
        for pattern in (_NAME, f"*-linux-gnu/{_NAME}", f"build/release/bindings/{_NAME}"):
            beside += sorted(folder.glob(pattern))
    return [str(path) for path in beside if path.is_file()] + [_NAME]


def _load():
    reasons = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        library.ah_abi_version.restype = c_uint32
        found = library.ah_abi_version()
        if found != ABI_VERSION:
            reasons.append(f"{path} has the interface {found}, and this package needs {ABI_VERSION}")
            continue
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library
    raise ImportError(
        "actorhost: cannot load its library: " + "; ".join(reasons) + " (ACTORHOST_LIBRARY names another file)"
    )


lib = _load()


def error_text() -> str:
    """The text of the last failure on this thread."""
    return lib.ah_error().decode("utf-8", "replace")
