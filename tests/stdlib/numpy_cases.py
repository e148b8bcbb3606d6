"""Writes numpy_cases.npz: NumPy's results for the expressions in numpy_cases.txt, which numpy_spec.lua compares.

    python3 tests/stdlib/numpy_cases.py

Run it again after a change of the cases; the tests themselves need no Python. `in.NAME` are the variables, `out.N.K` is
result K of the N-th case, counted from 1."""

import pathlib
import zipfile

import numpy as np

here = pathlib.Path(__file__).parent


def numpy_inputs():
    rng = np.random.default_rng(7)
    n = rng.normal(size=(4, 5)).astype(np.float32) * 3
    n[0, 1] = n[2, 3] = np.nan
    n[1, 0], n[3, 4] = np.inf, -np.inf
    j = rng.integers(-4, 4, size=(4, 5)).astype(np.int32)
    j[j == 0] = 4
    return {
        "x": rng.normal(size=(4, 5)),
        "y": rng.normal(size=(4, 5)),
        "f": rng.normal(size=(2, 3, 4)).astype(np.float32),
        "n": n,
        "p": rng.uniform(0.01, 9, size=7),
        "d": np.array([1.5, -2.0, 0.0, 3.25, 8.0]),
        "v": np.array([-1.0, -0.25, 0.0, 0.0, 0.5, 1.25]),
        "s": np.array(2.5),
        "e": np.zeros((0, 3), np.float32),
        "i": rng.integers(-5, 6, size=(4, 5)).astype(np.int32),
        "j": j,
        "l": np.array([0, 1, -1, 5, 2**40, 2**62, -(2**63)], np.int64),
        "u": np.array([0, 1, 2, 100, 127, 128, 200, 255], np.uint8),
        "b": rng.random((4, 5)) < 0.5,
        "c": rng.random((4, 5)) < 0.5,
        "pos": np.array([3, 1, 1, 6, 3, 3], np.int64),
        "größe": np.array([1.5, 2.5]),
        "w8": np.array([200, 100], np.uint8),
        "lim32": np.array([[-(2**31), 2**31 - 1], [2**31 - 1, 2**31 - 1]], np.int32),
        "lim64": np.array([[2**62, 2**62, 2**62], [2**63 - 1, 5, -(2**63)]], np.int64),
        "near": np.array([2**30, 2**30 + 1, 2**30 + 2, 2**30 + 5], np.int32),
        **matrices(),
    }


def matrices():
    rng = np.random.default_rng(11)
    return {
        "a": rng.normal(size=(4, 3)),
        "wide": rng.normal(size=(4, 5)),
        "sq": rng.normal(size=(3, 3)) + 2 * np.eye(3),
        "sq32": (rng.normal(size=(3, 3)) + 2 * np.eye(3)).astype(np.float32),
        "w": rng.normal(size=3),
        "v4": rng.normal(size=4),
        "batch": rng.normal(size=(2, 3, 3)) + 2 * np.eye(3),
        "many": rng.normal(size=(5, 1, 4, 3)),
        "none": np.zeros((0, 2, 3)),
        "low": rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5)),
        "large": rng.normal(size=(40, 40)),
    }


def put_along(a, index, values, axis):
    a = a.copy()
    np.put_along_axis(a, index, values, axis)
    return a


def add_at(a, index, values):
    np.add.at(a, index, values)
    return a


def unique_all(a):
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True)
    return values, counts, inverse.reshape(a.shape) + 1


def up(left, right, k=None):
    """Columns of `left` and rows of `right`, the first k, with signs such that each column sums to at least 0."""
    left, right = left[..., :k], right[..., :k, :]
    sign = np.where(left.sum(-2) < 0, -1.0, 1.0)
    return left * sign[..., None, :], right * sign[..., :, None]


def cases():
    for line in (here / "numpy_cases.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield [part.strip() for part in line.split(" | ")]


def print_inputs():
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(3, 14))
    return [
        np.array(1.5), np.array(True), np.array(7), np.array([1.0, 2.5, -3.125]), np.array([1e-5, 1.0]),
        np.array([0.1, 1000.5, 7.0], np.float32), np.array([np.nan, 1.0, -np.inf]), np.array([np.inf, np.nan]),
        np.array([1e8, 1.0]), np.array([1e20]), np.array([0.0, -0.0, 123456.75]), np.array([1 / 3, 2 / 3]),
        np.array([1 / 3, 2 / 3], np.float32), np.float32(0.1).reshape(1), np.array([99999999.0]), wide,
        wide.astype(np.float32) * np.float32(1e3), rng.normal(size=(2, 2, 3)), np.arange(40), np.arange(-3, 3).reshape(2, 3),
        np.arange(30) % 3 == 0, np.arange(2000), np.arange(2000.0).reshape(40, 50), rng.normal(size=(11, 10, 10)),
        np.array([2**62, -1]), np.arange(6, dtype=np.uint8), np.ones((1, 1, 1, 2)), np.array([1e-300, 1e300]),
        np.array([16777217.0, 3.0]), np.array([5e-324]), np.array([123456789.123, 0.5]), rng.random((7, 200)) < 0.5,
    ]


def main():
    np.seterr(all="ignore")
    inputs = numpy_inputs()
    arrays = {"in." + name: value for name, value in inputs.items()}
    names = dict(inputs, np=np, put_along=put_along, add_at=add_at, unique_all=unique_all, up=up)
    for at, (_, numpy, _) in enumerate(cases(), 1):
        results = eval(numpy, dict(names))
        for k, result in enumerate(results if isinstance(results, (tuple, list)) else (results,), 1):
            arrays[f"out.{at}.{k}"] = np.ascontiguousarray(result).reshape(np.shape(result))
    for at, value in enumerate(print_inputs(), 1):
        text = np.array2string(value, separator=", ", prefix="tensor(", suffix=")")
        arrays[f"print.{at}"] = value
        arrays[f"text.{at}"] = np.frombuffer(text.encode(), np.uint8)
    with zipfile.ZipFile(here / "numpy_cases.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in arrays.items():
            info = zipfile.ZipInfo(name + ".npy")  # without a time, so that the same cases give the same file
            info.compress_type = zipfile.ZIP_DEFLATED
            with file.open(info, "w") as member:
                np.lib.format.write_array(member, value)


if __name__ == "__main__":
    main()
