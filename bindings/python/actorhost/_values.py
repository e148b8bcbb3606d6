"""Values between Python and Lua. Arrays of NumPy and tensors of PyTorch share their memory with Lua."""

from __future__ import annotations

import atexit
import ctypes
import sys
from typing import Any

from . import _library as c
from ._library import lib

_KINDS = {"i": 0, "u": 1, "f": 2, "V": 3, "c": 5, "b": 6}  # NumPy's kinds as DLPack's type codes
_TORCH = {
    "float32": (2, 32), "float64": (2, 64), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "bool": (6, 8),
    "float16": (2, 16), "bfloat16": (4, 16), "int8": (0, 8), "int16": (0, 16), "complex64": (5, 64),
    "complex128": (5, 128),
}
_NUMPY = {(2, 32): "float32", (2, 64): "float64", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8", (6, 8): "bool"}
_EXACT = 2**53

_lent: dict[int, Any] = {}  # the arrays that Lua uses, by the addresses of their structs


@c.Deleter
def _release(address):
    _lent.pop(address, None)


@atexit.register
def _keep_lent() -> None:
    """Keeps the arrays that Lua still uses at the exit of Python. A node that cannot be stopped keeps its thread, and
    the thread must not call Python then. Runs after all hosts have been closed."""
    for tensor, *_ in list(_lent.values()):
        tensor.deleter = None
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_lent))


def _lend(data: int, code: int, bits: int, shape, strides, device: int, owner) -> Any:
    """A DLManagedTensor, which keeps `owner` until Lua has released it."""
    n = len(shape)
    tensor = c.Tensor(data, device, 0, n, code, bits, 1)
    sizes = (ctypes.c_int64 * n)(*shape)
    steps = (ctypes.c_int64 * n)(*strides)
    tensor.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    tensor.deleter = ctypes.cast(_release, ctypes.c_void_p)
    _lent[ctypes.addressof(tensor)] = (tensor, sizes, steps, owner)
    return ctypes.pointer(tensor)


def _of_numpy(array) -> Any:
    dtype = array.dtype
    if not dtype.isnative:
        raise TypeError(f"the array has elements of {dtype} in another byte order than this machine's")
    if dtype.kind not in _KINDS:
        raise TypeError(f"the array has elements of {dtype}; expected float32, float64, int32, int64, uint8 or bool")
    item = dtype.itemsize
    strides = [step // item if item and step % item == 0 else -1 for step in array.strides]
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous; pass numpy.ascontiguousarray(array)")
    if not array.flags.writeable:
        array = array.copy()  # Lua may write to it
    return _lend(array.ctypes.data, _KINDS[dtype.kind], 8 * item, array.shape, strides, 1, array)


def _of_torch(tensor) -> Any:
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu":
        raise ValueError(f"the tensor is on {tensor.device}; pass tensor.cpu()")
    if tensor.is_sparse or name not in _TORCH:
        raise TypeError(f"the tensor has elements of {name}; expected float32, float64, int32, int64, uint8 or bool")
    plain = tensor.detach()
    if not plain.is_contiguous():
        raise ValueError("the tensor is not contiguous; pass tensor.contiguous()")
    code, bits = _TORCH[name]
    return _lend(plain.data_ptr(), code, bits, tuple(plain.shape), plain.stride(), 1, plain)


def is_array(value) -> bool:
    """Whether the value is an array of NumPy or a tensor of PyTorch."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return True
    return torch is not None and hasattr(torch, "Tensor") and isinstance(value, torch.Tensor)


def _array_value(value):
    numpy = sys.modules.get("numpy")
    return _of_numpy(value) if numpy is not None and isinstance(value, numpy.ndarray) else _of_torch(value)


class Values:
    """Arguments for C, with the memory that they need."""

    def __init__(self, values, what: str = "argument"):
        self.kept: list[Any] = []
        self.tensors: list[Any] = []
        try:
            names = [what] if len(values) == 1 else [f"{what} {i + 1}" for i in range(len(values))]
            self.array = self._array(values, names)
        except BaseException:
            self.release()
            raise
        self.count = len(values)

    def release(self) -> None:
        """Takes the arrays back: C has not received the values."""
        for tensor in self.tensors:
            _lent.pop(ctypes.addressof(tensor.contents), None)

    def _array(self, values, names):
        array = (c.Value * len(values))()
        self.kept.append(array)
        for out, value, name in zip(array, values, names):
            self._fill(out, value, name)
        return array

    def _fill(self, out, value, name) -> None:
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic):
            value = value.item()
        if value is None:
            out.type = c.NIL
        elif isinstance(value, bool):
            out.type, out.boolean = c.BOOLEAN, value
        elif isinstance(value, int):
            self._fill_int(out, value, name)
        elif isinstance(value, float):
            out.type, out.number = c.NUMBER, value
        elif isinstance(value, (str, bytes)):
            data = value.encode() if isinstance(value, str) else value
            buffer = ctypes.create_string_buffer(data, len(data) + 1)
            self.kept.append(buffer)
            out.type, out.text, out.size = c.TEXT, ctypes.addressof(buffer), len(data)
        elif is_array(value):
            try:
                tensor = _array_value(value)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name}: {error}") from None
            self.tensors.append(tensor)
            out.type, out.tensor = c.TENSOR, tensor
        elif isinstance(value, dict):
            flat = [item for pair in value.items() for item in pair]
            names = [f"{name}[{key!r}]" for key in value for _ in range(2)]
            out.type, out.items, out.size = c.MAP, self._array(flat, names), len(value)
        elif isinstance(value, (list, tuple, range)):
            names = [f"{name}[{i}]" for i in range(len(value))]
            out.type, out.items, out.size = c.LIST, self._array(value, names), len(value)
        else:
            raise TypeError(
                f"{name} is a {type(value).__name__}; Lua takes None, bool, int, float, str, bytes, lists, dicts, "
                "NumPy arrays and PyTorch tensors"
            )

    def _fill_int(self, out, value, name) -> None:
        if not -(2**63) <= value < 2**63:
            raise OverflowError(f"{name} is {value}, and Lua's integers have 64 bits")
        if -_EXACT <= value <= _EXACT:
            out.type, out.number = c.NUMBER, value
        else:
            out.type, out.integer = c.INTEGER, value


class _Owner:
    """Calls the deleter of a tensor of Lua once no array uses its elements."""

    def __init__(self, pointer):
        self.address = ctypes.addressof(pointer.contents)
        self.deleter = pointer.contents.deleter

    def __del__(self):
        c.Deleter(self.deleter)(self.address)


def _to_numpy(value):
    try:
        import numpy
    except ImportError:
        raise ImportError("the value is an array, and arrays need NumPy: apt install python3-numpy") from None
    tensor = value.tensor.contents
    owner = _Owner(value.tensor)
    value.tensor = None
    dtype = numpy.dtype(_NUMPY[tensor.code, tensor.bits])
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    if size == 0:
        return numpy.empty(shape, dtype)
    memory = (ctypes.c_char * size).from_address(tensor.data)
    memory.owner = owner
    return numpy.frombuffer(memory, dtype).reshape(shape)


def to_python(value) -> Any:
    """A value of Lua: whole numbers as int, texts as str (as bytes unless they are UTF-8), tensors as NumPy arrays that
    share the memory, arrays as lists, other tables as dicts."""
    kind = value.type
    if kind == c.NIL:
        return None
    if kind == c.BOOLEAN:
        return bool(value.boolean)
    if kind == c.NUMBER:
        number = value.number
        return int(number) if number.is_integer() and abs(number) <= _EXACT else number
    if kind == c.INTEGER:
        return value.integer
    if kind == c.TEXT:
        data = ctypes.string_at(value.text, value.size)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data
    if kind == c.LIST:
        return [to_python(value.items[i]) for i in range(value.size)]
    if kind == c.MAP:
        return {to_python(value.items[2 * i]): to_python(value.items[2 * i + 1]) for i in range(value.size)}
    return _to_numpy(value)


def copy_into(target, source, name: str) -> None:
    """Copies an array of NumPy into an array of NumPy or a tensor of PyTorch with the same shape."""
    if hasattr(target, "detach"):
        target = target.detach().numpy()
    if tuple(target.shape) != tuple(source.shape):
        raise ValueError(f"'{name}' has the shape {tuple(source.shape)} in the run and {tuple(target.shape)} here")
    target[...] = source


__all__ = ["Values", "copy_into", "is_array", "lib", "to_python"]
