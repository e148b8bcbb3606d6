"""Writes numpy_linalg.npz: what NumPy makes of the expressions in numpy_linalg.txt, for numpy_linalg_spec.lua to compare.

    python3 tests/stdlib/numpy_linalg.py

Run it again after a change of the cases; the tests themselves need no Python. `in.NAME` are the variables, `out.N.K` is
result K of the N-th case, counted from 1."""

import pathlib
import zipfile

import numpy as np

here = pathlib.Path(__file__).parent


def numpy_inputs():
    rng = np.random.default_rng(11)
    holes = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.4)
    return {
        "a": rng.normal(size=(4, 3)),
        "b": rng.normal(size=(4, 5)),
        "c": rng.normal(size=(3, 3)) + 2 * np.eye(3),
        "f": (rng.normal(size=(3, 3)) + 2 * np.eye(3)).astype(np.float32),
        "v": rng.normal(size=3),
        "v4": rng.normal(size=4),
        "batch": rng.normal(size=(2, 3, 3)) + 2 * np.eye(3),
        "many": rng.normal(size=(5, 1, 4, 3)),
        "none": np.zeros((0, 2, 3)),
        "low": rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5)),
        "large": rng.normal(size=(40, 40)),
        "holes": holes,
        "flipped": holes[::-1].copy(),
    }


def dense_of(rows, columns, values, shape):
    out = np.zeros(shape)
    np.add.at(out, (np.array(rows) - 1, np.array(columns) - 1), values)
    return out


def up(left, right, k=None):
    """Columns of `left` and rows of `right`, the first k, with signs such that each column sums to at least 0."""
    left, right = left[..., :k], right[..., :k, :]
    sign = np.where(left.sum(-2) < 0, -1.0, 1.0)
    return left * sign[..., None, :], right * sign[..., :, None]


def cases():
    for line in (here / "numpy_linalg.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield [part.strip() for part in line.split(" | ")]


def main():
    inputs = numpy_inputs()
    arrays = {"in." + name: value for name, value in inputs.items()}
    names = dict(inputs, np=np, up=up, dense_of=dense_of)
    for at, (_, numpy, _) in enumerate(cases(), 1):
        results = eval(numpy, names)
        for k, result in enumerate(results if isinstance(results, tuple) else (results,), 1):
            value = np.asarray(result)
            if value.dtype.kind != "f":
                value = value.astype(np.float64)
            arrays[f"out.{at}.{k}"] = np.ascontiguousarray(value).reshape(np.shape(result))
    with zipfile.ZipFile(here / "numpy_linalg.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in arrays.items():
            info = zipfile.ZipInfo(name + ".npy")  # without a time, so that the same cases give the same file
            info.compress_type = zipfile.ZIP_DEFLATED
            with file.open(info, "w") as member:
                np.lib.format.write_array(member, value)


if __name__ == "__main__":
    main()
