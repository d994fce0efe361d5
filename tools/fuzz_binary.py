"""Files of NumPy, SciPy and MATLAB for tools/fuzz_readers.py, damaged within and without their archives."""

from __future__ import annotations

import functools
import io
import zipfile
from random import Random

import numpy as np
import scipy.io
import scipy.sparse as sp
from fuzz_damage import BINARY, Input, damaged

from sordino import Factors
from sordino.io import factor_files


def _npy(random: Random, array: np.ndarray, *, sound: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    data = stream.getvalue()
    if sound or random.random() < 0.6:
        return data
    if random.random() < 0.5:
        return damaged(random, data, BINARY)
    head, body = data[:128], data[128:]
    shape = random.choice(
        (
            b"(1000000000000,)",
            b"(-1,)",
            b"(3, 99999999999999999999)",
            b"()",
            b"(0,)",
            b"(2,",
            b"None",
            b"{}",
            b"(1e3,)",
        )
    )
    old = head[head.index(b"(") : head.index(b")") + 1]
    return head.replace(old, shape)[:127].ljust(127) + b"\n" + body


def numpy_files(random: Random) -> Input:
    """Sparse matrices in ``.npz``, dense ones and vectors in ``.npy``."""
    n, sound = random.randint(1, 5), random.random() < 0.025
    dense = np.array([[float(i == j) * 4 + (random.random() < 0.3) for j in range(n)] for i in range(n)])
    if random.random() < 0.3:
        use = random.choice(("matrix", "vector"))
        kind = random.choice(("<f8", "<f4", "<i8", "|b1", ">f8", "<c16", "<U3", "<M8[s]", "<f2"))
        array = (dense if use == "matrix" else np.arange(3.0)).astype("<f8" if sound else kind)
        return Input(_npy(random, array, sound=sound), ".npy", use, sound and (use == "vector" or n > 0))
    form = random.choice(("csr", "csc", "coo", "bsr", "dia"))
    stream = io.BytesIO()
    sp.save_npz(stream, sp.coo_array(dense).asformat(form), compressed=False)
    stream.seek(0)
    with np.load(stream) as archive:
        arrays = {key: archive[key] for key in archive.files}
    return _packed(random, arrays, "matrix", sound=sound)


def factors(random: Random) -> Input:
    """Files of triangular factors, with and without a checksum."""
    n, sound = random.randint(1, 5), random.random() < 0.025
    lower = sp.csc_array(np.tril([[1 + (random.random() < 0.3) for _ in range(n)] for _ in range(n)]) * 0.5)
    order = random.sample(range(n), n)
    found = Factors(
        lower,
        random.choice((None, lower.T)),
        random.random() < 0.5,
        row_order=random.choice((None, order)),
        row_scale=random.choice((None, [2.0**k for k in range(n)])),
    )
    arrays = factor_files.arrays_of(found)
    if random.random() < 0.5:
        arrays["checksum"] = np.array(factor_files.checksum(arrays))
    return _packed(random, arrays, "factors", sound=sound)


def _packed(random: Random, arrays: dict[str, np.ndarray], use: str, *, sound: bool) -> Input:
    """The arrays in an ``.npz``, most of them damaged."""
    if not sound:
        arrays = _arrays_damaged(random, arrays)
    packed = io.BytesIO()
    way = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", way) as archive:
        for key, array in arrays.items():
            archive.writestr(
                zipfile.ZipInfo(f"{key}.npy"), _npy(random, array, sound=sound or random.random() < 0.8), way
            )
    data = packed.getvalue()
    if not sound and random.random() < 0.3:
        data = damaged(random, data, BINARY)
    return Input(data, ".npz", use, sound)


def _arrays_damaged(random: Random, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    arrays = dict(arrays)
    key = random.choice(list(arrays))
    way = random.randrange(6)
    if way == 0:
        del arrays[key]
    elif way == 1 and "shape" in arrays:
        arrays["shape"] = np.array(
            random.choice(([-1, 2], [10**12, 10**12], [10**9, 10**9], [2], [3, 3, 3], [0, 0], [2, 3]))
        )
    elif way == 2:
        arrays["format"] = np.array(
            random.choice(("csr", "coo", "lil", "", "dok", b"csc", b"\xff", 3, "x" * 500))
        )
    elif way == 3:
        arrays[key] = arrays[key].astype("S5") if random.random() < 0.5 else arrays[key].ravel()[:-1]
    elif arrays[key].dtype.kind in "if" and arrays[key].size:
        arrays[key] = arrays[key].copy()
        most = np.iinfo(arrays[key].dtype).max if arrays[key].dtype.kind == "i" else np.nan
        arrays[key].flat[random.randrange(arrays[key].size)] = random.choice((-1, 0, 1, 3, 100, most))
    return arrays


@functools.cache
def _mat_files() -> list[bytes]:
    A = sp.csc_array(np.array([[4.0, 1, 0], [1, 4, 0], [0, 0, 4]]))
    b = np.arange(3.0).reshape(3, 1)
    contents = (
        {"A": A, "b": b}, {"any": A}, {"A": A, "B": A, "b": sp.csc_array(b)}, {"M": A.toarray()},
        {"Problem": {"A": A, "b": b, "title": "t"}},
        {"A": A, "note": "words", "cells": np.array([1, "x"], dtype=object)},
    )  # fmt: skip
    files = []
    for content in contents:
        for packed in (False, True):
            stream = io.BytesIO()
            scipy.io.savemat(stream, content, do_compression=packed)
            files.append(stream.getvalue())
    return files


def matlab(random: Random) -> Input:
    """Files of MATLAB 5, damaged behind their first words mostly."""
    data = random.choice(_mat_files())
    if random.random() < 0.025:
        return Input(data, ".mat", "matrix", True)
    if random.random() < 0.9:
        return Input(data[:128] + damaged(random, data[128:], BINARY), ".mat", "matrix", False)
    return Input(damaged(random, data, BINARY), ".mat", "matrix", False)
