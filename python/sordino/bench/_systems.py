"""The systems of ``sordino bench claims``, fixed with their seeds: some that any method solves, and many on
which methods claim what is not so. Real ones are read from a folder of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..io import reading
from ..problems import poisson

System = tuple[Any, np.ndarray]  # A in CSR, shape (n, n), and b, shape (n,)


@dataclass(frozen=True)
class Entry:
    """A system by its name; `build` makes it, the same each time."""

    name: str
    kind: str
    build: Callable[[], System]


def known(folder: str = "") -> list[Entry]:
    """All systems, in the order of the table.

    Parameters
    ----------
    folder : str
        Where the files of :data:`REAL` are; those that are not there are left out.
    """
    real = [Entry(name, "real", _reader(Path(folder, name), own)) for name, own in REAL] if folder else []
    return [*_GENERATED, *(entry for entry in real if Path(folder, entry.name).is_file())]


#: Files, and whether their own right-hand side is taken instead of A*1.
REAL = (
    ("bcsstk16.mtx", False),
    ("add20.mtx", False),
    ("bayer10.mtx", False),
    ("ScaleMicrogrid_Jacobian_N1000_01.mtx", False),
    ("big.rua", True),
)


def _reader(path: Path, own: bool) -> Callable[[], System]:
    def build() -> System:
        file = reading.read_matrix(path)
        matrix = sp.csr_array(file.matrix)
        return (matrix, file.rhs[:, 0].copy()) if own and file.rhs is not None else _ones(matrix)

    return build


def _ones(matrix: Any) -> System:
    matrix = sp.csr_array(matrix)
    return matrix, matrix @ np.ones(matrix.shape[0])


def _random(matrix: Any, seed: int) -> System:
    """b of normal random numbers, of which every direction has its part."""
    matrix = sp.csr_array(matrix)
    return matrix, np.random.default_rng(seed).standard_normal(matrix.shape[0])


def _line(n: int) -> Any:
    return sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")


def _plane(n: int) -> Any:
    eye = sp.eye_array(n)
    return sp.csr_array(sp.kron(_line(n), eye) + sp.kron(eye, _line(n)))


def _with_eigenvalues(values: np.ndarray, seed: int) -> Any:
    """Q diag(values) Q', dense, Q random and orthogonal."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    full = (q * values) @ q.T
    return sp.csr_array((full + full.T) / 2)


def _hilbert(n: int) -> Any:
    i = np.arange(n)
    return sp.csr_array(1.0 / (i[:, None] + i[None, :] + 1))


def _diagonal(n: int, decades: float, seed: int) -> Any:
    """Powers of ten, from 10^-decades to 10^decades."""
    return sp.diags_array(10.0 ** np.random.default_rng(seed).uniform(-decades, decades, n))


def _convection(n: int, speed: float, upwind: bool) -> Any:
    """Convection and diffusion on a plane of n x n cells of width 1."""
    ahead, behind = (0.0, speed) if upwind else (-speed / 2, speed / 2)
    flow = sp.diags_array([-behind, behind + ahead, -ahead], offsets=[-1, 0, 1], shape=(n, n))
    eye = sp.eye_array(n)
    return sp.csr_array(_plane(n) + sp.kron(flow, eye) + sp.kron(eye, flow))


def _gale() -> Any:
    return _convection(30, 200.0, False)


def _both_sides(matrix: Any, factors: Any) -> Any:
    return factors @ matrix @ factors


def _neumann(n: int) -> Any:
    """The line with walls at both ends: constants are its nullspace."""
    ends = np.zeros(n)
    ends[[0, -1]] = 1.0
    return sp.csr_array(_line(n) - sp.diags_array(ends))


def _shift(n: int) -> Any:
    """x moves on by one place, around: methods of Krylov see nothing until step n."""
    return sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))


def _scattered(rows: int, columns: int, count: int, seed: int) -> Any:
    """So many entries between 0 and 1, anywhere; where two fall together they are added."""
    rng = np.random.default_rng(seed)
    places = rng.integers(rows, size=count), rng.integers(columns, size=count)
    return sp.csr_array(sp.coo_array((rng.random(count), places), shape=(rows, columns)))


def _saddle(n: int, seed: int) -> Any:
    constraints = _scattered(n // 4, n, 5 * n, seed) + sp.eye_array(n // 4, n)
    corner = sp.diags_array(np.zeros(n // 4))  # entries, of zero
    return sp.block_array([[_line(n), constraints.T], [constraints, corner]], format="csr")


def _sparse(n: int, diagonal: float, seed: int) -> Any:
    return sp.csr_array(_scattered(n, n, 5 * n, seed) - 0.5 * _shift(n) + diagonal * sp.eye_array(n))


def _graph(n: int, seed: int) -> Any:
    """The Laplacian of two random graphs that do not touch: a nullspace of dimension two."""
    halves = []
    for k in range(2):
        links = _scattered(n // 2, n // 2, 4 * n, seed + k)
        links = sp.csr_array(links + links.T + _shift(n // 2) + _shift(n // 2).T)
        halves.append(sp.diags_array(links.sum(axis=1)) - links)
    return sp.block_diag(halves, format="csr")


def _indefinite_by(n: int, distance: float) -> Any:
    """A line shifted so that its least eigenvalue is `distance`."""
    least = 2 - 2 * np.cos(np.pi / (n + 1))
    return sp.csr_array(_line(n) - (least - distance) * sp.eye_array(n))


def _one_row(matrix: Any, row: int, factor: float) -> Any:
    factors = np.ones(matrix.shape[0])
    factors[row] = factor
    return sp.diags_array(factors) @ matrix


def _unit(matrix: Any) -> System:
    b = np.zeros(matrix.shape[0])
    b[0] = 1.0
    return matrix, b


def _skew(n: int, diagonal: float) -> Any:
    return sp.diags_array([-1.0, diagonal, 1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")


def _grcar(n: int) -> Any:
    """-1 below the diagonal, 1 on it and on three above: its eigenvalues say little of it."""
    return sp.diags_array([-1.0, 1.0, 1.0, 1.0, 1.0], offsets=[-1, 0, 1, 2, 3], shape=(n, n), format="csr")


def _equal_rows(matrix: Any) -> Any:
    """The last row is the first one again."""
    return sp.vstack([matrix[:-1], matrix[:1]], format="csr")


def _consistent(matrix: Any, seed: int) -> System:
    return matrix, matrix @ np.random.default_rng(seed).standard_normal(matrix.shape[0])


def _almost(matrix: Any, seed: int, apart: float) -> System:
    """b lies in the range of a symmetric A but for a constant."""
    b = _consistent(matrix, seed)[1]
    return matrix, b + apart * np.linalg.norm(b) / np.sqrt(len(b))


def _in_single(system: System) -> System:
    return system[0].astype(np.float32), system[1].astype(np.float32)


def _with(system: System, place: int, value: float, *, of_matrix: bool = False) -> System:
    (system[0].data if of_matrix else system[1])[place] = value
    return system


def _times(system: System, of_matrix: float, of_b: float) -> System:
    return system[0] * of_matrix, system[1] * of_b


def _decades(low: float, n: int) -> np.ndarray:
    return np.logspace(low, 0, n)


_GENERATED = [
    Entry("line 1000", "easy", lambda: _ones(_line(1000))),
    Entry("plane 40^2", "easy", lambda: _random(_plane(40), 1)),
    Entry("box 12^3, 27 points", "easy", lambda: _ones(poisson(12, 12, 12, stencil=27))),
    Entry("sparse, dominant", "easy", lambda: _random(_sparse(1000, 6.0, 2), 3)),
    Entry("box 16^3, contrast 1e6", "ill-conditioned", lambda: _random(poisson(16, 16, 16, contrast=1e6), 4)),
    Entry("box 12^3, contrast 1e10", "ill-conditioned", lambda: _random(poisson(12, 12, 12, contrast=1e10), 5)),
    Entry("line squared 500", "ill-conditioned", lambda: _random(_line(500) @ _line(500), 6)),
    Entry("line cubed 200", "ill-conditioned", lambda: _random(_line(200) @ _line(200) @ _line(200), 7)),
    Entry("eigenvalues to 1e-8", "ill-conditioned", lambda: _random(_with_eigenvalues(_decades(-8, 200), 8), 9)),
    Entry("eigenvalues to 1e-12", "ill-conditioned", lambda: _random(_with_eigenvalues(_decades(-12, 200), 10), 11)),
    Entry("eigenvalues to 1e-14", "ill-conditioned", lambda: _random(_with_eigenvalues(_decades(-14, 200), 12), 13)),
    Entry("eigenvalues to 1e-16", "ill-conditioned", lambda: _ones(_with_eigenvalues(_decades(-16, 200), 14))),
    Entry("Hilbert 12", "ill-conditioned", lambda: _ones(_hilbert(12))),
    Entry("Hilbert 60, b random", "ill-conditioned", lambda: _random(_hilbert(60), 15)),
    Entry("plane, rows by 1e+-4", "scaled", lambda: _random(_diagonal(900, 4, 16) @ _plane(30), 17)),
    Entry("plane, rows by 1e+-8", "scaled", lambda: _random(_diagonal(900, 8, 18) @ _plane(30), 19)),
    Entry("plane, both by 1e+-4", "scaled", lambda: _random(_both_sides(_plane(30), _diagonal(900, 4, 20)), 21)),
    Entry("plane, columns by 1e+-8", "scaled", lambda: _random(_plane(30) @ _diagonal(900, 8, 22), 23)),
    Entry("one row by 1e-10", "scaled", lambda: _random(_one_row(_plane(30), 450, 1e-10), 24)),
    Entry("one row by 1e10", "scaled", lambda: _random(_one_row(_plane(30), 450, 1e10), 25)),
    Entry("b of 1e-12", "scaled", lambda: _times(_random(_plane(30), 26), 1.0, 1e-12)),
    Entry("b of 1e-160", "scaled", lambda: _times(_random(_plane(30), 27), 1.0, 1e-160)),
    Entry("b of 1e-300", "scaled", lambda: _times(_random(_plane(30), 28), 1.0, 1e-300)),
    Entry("b of 1e160", "scaled", lambda: _times(_random(_plane(30), 29), 1.0, 1e160)),
    Entry("A of 1e-160", "scaled", lambda: _times(_random(_plane(30), 30), 1e-160, 1.0)),
    Entry("A of 1e160", "scaled", lambda: _times(_random(_plane(30), 31), 1e160, 1.0)),
    Entry("wind, upwind", "nonsymmetric", lambda: _random(_convection(30, 10.0, True), 32)),
    Entry("wind, central", "nonsymmetric", lambda: _random(_convection(30, 20.0, False), 33)),
    Entry("gale, central", "nonsymmetric", lambda: _random(_convection(30, 2000.0, False), 34)),
    Entry("gale, rows by 1e+-6", "nonsymmetric", lambda: _random(_diagonal(900, 6, 35) @ _gale(), 36)),
    Entry("a turn 200", "nonsymmetric", lambda: _unit(_shift(200))),
    Entry("skew and a little", "nonsymmetric", lambda: _random(_skew(400, 1e-3), 37)),
    Entry("far from normal", "nonsymmetric", lambda: _random(_grcar(300), 38)),
    Entry("sparse, not dominant", "nonsymmetric", lambda: _random(_sparse(600, 0.5, 39), 40)),
    Entry("walls, consistent", "singular", lambda: _consistent(_neumann(400), 41)),
    Entry("walls, inconsistent", "singular", lambda: _random(_neumann(400), 42)),
    Entry("walls, almost consistent", "singular", lambda: _almost(_neumann(400), 43, 1e-6)),
    Entry("two graphs, inconsistent", "singular", lambda: _random(_graph(400, 44), 45)),
    Entry("equal rows, inconsistent", "singular", lambda: _random(_equal_rows(_convection(20, 3.0, True)), 46)),
    Entry("line, least 1e-10", "nearly indefinite", lambda: _random(_indefinite_by(300, 1e-10), 47)),
    Entry("line, least -1e-10", "nearly indefinite", lambda: _random(_indefinite_by(300, -1e-10), 48)),
    Entry("plane less 1", "indefinite", lambda: _random(_plane(30) - sp.eye_array(900), 49)),
    Entry("saddle", "indefinite", lambda: _random(_saddle(400, 50), 51)),
    Entry("plane in float32", "float32", lambda: _in_single(_random(_plane(30), 52))),
    Entry("1e6 in float32", "float32", lambda: _in_single(_random(_with_eigenvalues(_decades(-6, 200), 53), 54))),
    Entry("rows by 1e+-4 in float32", "float32", lambda: _in_single(_random(_diagonal(900, 4, 55) @ _plane(30), 56))),
    Entry("b = 0", "odd", lambda: _times(_random(_plane(30), 57), 1.0, 0.0)),
    Entry("one row", "odd", lambda: (sp.csr_array([[1e-5]]), np.array([3.0]))),
    Entry("identity", "odd", lambda: _random(sp.eye_array(100), 58)),
    Entry("NaN in b", "odd", lambda: _with(_random(_plane(30), 59), 7, np.nan)),
    Entry("NaN in A", "odd", lambda: _with(_random(_plane(30), 60), 7, np.nan, of_matrix=True)),
    Entry("infinity in b", "odd", lambda: _with(_random(_plane(30), 61), 7, np.inf)),
]  # fmt: skip
