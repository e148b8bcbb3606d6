# The yardstick of arrays.lua: the same operations with NumPy. Prints a line "name<tab>seconds" for each operation, the
# least of several calls. Usage: arrays_numpy.py float32|float64
import sys
import time

import numpy as np

COUNT, SIDE = 1000000, 1000
dtype = np.dtype(sys.argv[1])
x = (np.arange(1, COUNT + 1, dtype=dtype) * dtype.type(0.37)) % dtype.type(4) - dtype.type(2)
y, positive = x * dtype.type(0.5) + dtype.type(0.25), np.abs(x) + dtype.type(0.1)
m = x.reshape(SIDE, SIDE)
turned, side = m.T, m[0].copy()
every_second = np.zeros(2 * COUNT, dtype)[::2]
one = dtype.type(1)


out, square = np.empty(COUNT, dtype), np.empty((SIDE, SIDE), dtype)
other = np.empty(COUNT, np.float64 if dtype == np.float32 else np.float32)
truth = np.empty(COUNT, bool)
mask, places = x > 0, np.random.default_rng(1).permutation(COUNT)


def sigmoid():
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, one, out=out)
    return np.divide(one, out, out=out)


def softmax():
    np.subtract(m, m.max(axis=1, keepdims=True), out=square)
    np.exp(square, out=square)
    return np.divide(square, square.sum(axis=1, keepdims=True), out=square)


def norm(axis=None):
    return lambda: np.linalg.norm(x if axis is None else m, axis=axis)


operations = [
    ("a new array: add", lambda: x + y), ("a new array: lt", lambda: x < y),
    ("div", lambda: np.divide(x, positive, out=out)), ("add row", lambda: np.add(m, side, out=square)),
    ("add transposed", lambda: np.add(m, turned, out=square)), ("pow", lambda: np.power(positive, y, out=out)),
    ("gt number", lambda: np.greater(x, dtype.type(0), out=truth)),
    ("exp every second", lambda: np.exp(every_second, out=out)),
    ("a new array: where", lambda: np.where(mask, x, y)), ("a new array: take", lambda: x[places]),
    ("a new array: sort", lambda: np.sort(x[places], kind="stable")),
    ("copy", lambda: np.copyto(out, x)), ("copy transposed", lambda: np.copyto(square, turned)),
    ("copy every second", lambda: np.copyto(out, every_second)),
    ("convert", lambda: np.copyto(other, x, casting="same_kind")),
    ("equal", lambda: np.array_equal(x, x)), ("allclose", lambda: np.allclose(x, x)),
    ("argmax", lambda: x.argmax()), ("argmin", lambda: x.argmin()), ("softmax", softmax),
    ("dot", lambda: x @ y), ("matrix-vector", lambda: m @ side), ("vector-matrix", lambda: side @ m),
    ("transposed-vector", lambda: turned @ side),
    ("neg", lambda: np.negative(x, out=out)), ("abs", lambda: np.abs(x, out=out)),
    ("square", lambda: np.square(x, out=out)), ("exp", lambda: np.exp(x, out=out)),
    ("tanh", lambda: np.tanh(x, out=out)), ("sigmoid", sigmoid),
    ("relu", lambda: np.maximum(x, dtype.type(0), out=out)), ("sign", lambda: np.sign(x, out=out)),
    ("sqrt", lambda: np.sqrt(positive, out=out)), ("log", lambda: np.log(positive, out=out)),
    ("add", lambda: np.add(x, y, out=out)), ("mul", lambda: np.multiply(x, y, out=out)),
    ("maximum", lambda: np.maximum(x, y, out=out)), ("lt", lambda: np.less(x, y, out=truth)),
    ("eq", lambda: np.equal(x, y, out=truth)),
    ("sum", lambda: x.sum()), ("sum of rows", lambda: m.sum(axis=1)), ("sum of columns", lambda: m.sum(axis=0)),
    ("max", lambda: x.max()), ("max of rows", lambda: m.max(axis=1)), ("max of columns", lambda: m.max(axis=0)),
    ("norm", norm()), ("norm of rows", norm(1)), ("norm of columns", norm(0)),
    ("argmax of rows", lambda: m.argmax(axis=1)), ("argmax of columns", lambda: m.argmax(axis=0)),
]
for kind in ("int32", "int64", "uint8"):
    whole = (x * 50 + 100).astype(kind)
    for name in ("argmax", "max", "sum"):
        operations.append((f"{name} of {kind}", getattr(whole, name)))


def best(f):
    f()
    least, calls, start = float("inf"), 0, time.perf_counter()
    while calls < 5 or time.perf_counter() - start < 0.02:
        begin = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - begin)
        calls += 1
    return least


for name, f in operations:
    print(f"{name}\t{best(f)}", flush=True)
