"""cuDSS 0.7, and what of CuPy its calls need, in memory of the CPU."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

PHASES = ("fwd_perm", "fwd", "diag", "bwd", "bwd_perm")


class There:
    """An array of NumPy that has what CuPy's have."""

    def __init__(self, values, order="C"):
        self.values = np.array(values, order=order)
        self.data = SimpleNamespace(ptr=self.values.ctypes.data)
        self.shape = self.values.shape

    def get(self):
        return self.values.copy()

    def fill(self, value):
        self.values.fill(value)


class Event:
    """Counts as a clock: each record is a millisecond later."""

    now = 0

    def record(self, stream):
        Event.now += 1
        self.at = Event.now

    def synchronize(self):
        pass


def cupy():
    """The module."""
    module = ModuleType("cupy")
    module.asarray = There
    module.zeros = lambda shape, order: There(np.zeros(shape), order)
    module.cuda = SimpleNamespace(
        Event=Event,
        get_elapsed_time=lambda a, b: float(b.at - a.at),
        Stream=lambda non_blocking: SimpleNamespace(ptr=7, synchronize=lambda: None),
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        Device=lambda: SimpleNamespace(id=0, synchronize=lambda: None),
        runtime=SimpleNamespace(getDeviceProperties=lambda device: {"name": b"a stand-in"}),
    )
    return module


class Cudss:
    """Cholesky's L L^T, or L D U; counts what is made and what is given back.

    `wrong` is a phase that does nothing; not `alone`, phases are done together only; of matrices of n rows that are
    `failing` the row where factorization fails.
    """

    def __init__(self, version=(0, 7, 1), wrong="", alone=True, failing=None):
        self.version, self.wrong, self.alone, self.failing = version, wrong, alone, failing or {}
        self.things, self.held, self.said = {}, 0, {}

    def _made(self, out, thing=None):
        self.held += 1
        out._obj.value = len(self.things) + 1
        self.things[out._obj.value] = thing
        return 0

    def cudssGetProperty(self, which, out):
        out._obj.value = self.version[which]
        return 0

    def cudssCreate(self, out):
        return self._made(out)

    def cudssSetStream(self, handle, stream):
        return 0 if stream.value == 7 else 3

    def cudssConfigCreate(self, out):
        return self._made(out)

    def cudssDataCreate(self, handle, out):
        self.order = None
        return self._made(out)

    def cudssMatrixCreateCsr(self, out, n, m, entries, begin, end, places, values, *kinds):
        assert kinds[:2] == (10, 1) and kinds[3:] == (0, 0) and end is None and n.value == m.value
        parts = (
            _array(values, ctypes.c_double, entries.value), _array(places, ctypes.c_int, entries.value),
            _array(begin, ctypes.c_int, n.value + 1),
        )  # fmt: skip
        self.kind = {3: "spd", 0: "general"}[kinds[2]]
        return self._made(out, sp.csr_array(parts, shape=(n.value, n.value)).toarray())

    def cudssMatrixCreateDn(self, out, n, columns, leading, values, kind, layout):
        assert (kind, layout, leading.value) == (1, 0, n.value)
        flat = _array(values, ctypes.c_double, n.value * columns.value)
        return self._made(out, flat.reshape(n.value, columns.value, order="F"))

    def cudssConfigSet(self, config, parameter, word, size):
        assert size.value == 4
        self.said[parameter] = word._obj.value
        return 0

    def cudssDataSet(self, handle, data, parameter, pointer, size):
        assert parameter == 9
        self.order = _array(pointer, ctypes.c_int, size.value // 4).copy()
        return 0

    def cudssDataGet(self, handle, data, parameter, pointer, size, written):
        if parameter == 4:
            _array(pointer, ctypes.c_int, size.value // 4)[:] = self.order
        else:
            entries = (abs(self.factors[0]) > 1e-14).sum()
            pointer._obj.value = {0: self.failing.get(len(self.order), 0), 1: int(entries)}[parameter]
        return 0

    def cudssExecute(self, handle, phases, config, data, A, x, b):
        names = [name for k, name in enumerate(PHASES, 4) if phases >> k & 1]
        A, x, b = (self.things[one.value] for one in (A, x, b))
        if phases == 3:
            self.order = np.arange(len(A), dtype=np.int32)[::-1] if self.order is None else self.order
        elif phases == 4:
            self.factors = _factors(A[np.ix_(self.order, self.order)], self.kind)
        elif not self.alone and len(names) == 1:
            return 4
        else:
            self._solve([name for name in names if name != self.wrong], x, b)
        return 0

    def _solve(self, names, x, b):
        L, d, U = self.factors
        v = b.copy()
        for name in names:
            if name == "fwd_perm":
                v = v[self.order]
            elif name == "bwd_perm":
                v[self.order] = v.copy()
            elif name == "diag":
                v /= d[:, None]
            else:
                v = la.solve_triangular(*{"fwd": (L, v), "bwd": (U, v)}[name], lower=name == "fwd")
        x[:] = v

    def __getattr__(self, name):
        if not name.endswith("Destroy"):
            raise AttributeError(name)
        self.held -= 1
        return lambda *arguments: 0


def _factors(A, kind):
    L = la.cholesky(A, lower=True)
    if kind == "spd":
        return L, np.ones(len(A)), L.T
    diagonal = L.diagonal()
    return L / diagonal, diagonal**2, (L / diagonal).T


def _array(pointer, kind, length):
    return np.ctypeslib.as_array((kind * length).from_address(pointer.value))
