"""What ``sordino trsv`` solves with, read from a file, and its right-hand sides."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._factorized import factorized
from .._factors import Factors, with_unit_diagonal
from .._lu import FactorizedLU, factorized_lu
from .._matrix import as_sparse
from .._splu import splu
from .._triangular import FactorizedTriangle
from ..errors import BadArgument, SordinoError
from ..io import load_factors, read_matrix, read_vectors
from ..io.numpy_files import member_names
from .common import whole_number


@dataclass
class System:
    """What is solved with, and what its solutions are verified by.

    Attributes
    ----------
    solver : FactorizedTriangle or FactorizedLU
    multiply : function of an array, shape (n, k)
        The matrix, transposed as it is asked for, times that.
    backward_error : function of b and x, or None
    words : str
        What it is, for the first line.
    triangle : sparse array, or None
        What one triangle that is solved with is.
    """

    name: str
    solver: FactorizedTriangle | FactorizedLU
    multiply: Callable[[np.ndarray], np.ndarray]
    backward_error: Callable[[np.ndarray, np.ndarray], float] | None
    words: str
    notes: list[str] = field(default_factory=list)
    rhs: np.ndarray | None = None
    triangle: Any = None


def system_of(given: Namespace, options: dict[str, Any]) -> System:
    """What the command line names, set up with these options."""
    if is_of_factors_file(given.file):
        if given.factor or given.upper or given.unit:
            raise BadArgument(f"{given.file} holds factors: leave out --factor, --upper and --unit")
        if given.matrix:
            return _of_factors_and_matrix(given, load_factors(given.file), options)
        if given.refine != "auto" and whole_number(given.refine, "--refine") != 0:
            raise BadArgument("--refine needs the matrix, and this file has its factors only: give --matrix")
        return _of_factors(given, load_factors(given.file), options)
    if given.matrix:
        raise BadArgument(f"--matrix goes with a file of factors, and {given.file} holds none")
    read = read_matrix(given.file)
    if given.factor and (given.upper or given.unit):
        raise BadArgument(
            "--upper and --unit are of a triangle, and --factor is for any matrix: leave one out"
        )
    try:
        system = _factored(read.name, read.matrix, given, options) if given.factor else None
        system = system or _triangle(read.name, read.matrix, given, options)
    except SordinoError as wrong:
        raise type(wrong)(f"{read.name}: {wrong}") from None
    system.notes[:0] = read.notes
    system.rhs = read.rhs
    return system


def is_of_factors_file(path: str) -> bool:
    """Whether a file holds factors, by the names of its members; damaged ones are for their reader to refuse."""
    return {"format", "lower_indptr"} <= member_names(path)


def _of_factors(given: Namespace, factors: Factors, options: dict[str, Any]) -> System:
    solver = _set_up(given.file, factors, None, options)
    notes = [
        "The residual is that of the matrix that the factors multiply to; --matrix FILE compares with another."
    ]
    return System(given.file, solver, lambda x: factors.product(x, given.trans), None, _words(factors), notes)


def _of_factors_and_matrix(given: Namespace, factors: Factors, options: dict[str, Any]) -> System:
    read = read_matrix(given.matrix)
    solver = _set_up(given.file, factors, read.matrix, options)
    system = _verified_by(read.name, solver, f"{_words(factors)} of {given.file}", given)
    system.notes[:0] = read.notes
    system.rhs = read.rhs
    return system


def _set_up(file: str, factors: Factors, matrix: Any, options: dict[str, Any]) -> FactorizedLU:
    """Factors of a file; what is wrong with them names it."""
    try:
        return factorized_lu(factors, matrix, **options)
    except SordinoError as wrong:
        raise type(wrong)(f"{file}: {wrong}") from None


def _words(factors: Factors) -> str:
    return f"factors {'L and U' if factors.upper is not None else 'L of L L^H'}"


def _factored(name: str, matrix: Any, given: Namespace, options: dict[str, Any]) -> System:
    solver = splu(matrix, given.ordering, **options)
    words = f"{solver.matrix.nnz:,} entries; factored by SciPy's SuperLU, ordering {solver.ordering}"
    system = _verified_by(name, solver, words, given)
    if solver.choice and given.ordering == "auto":
        system.notes.append(f"Ordering {solver.ordering}: {solver.choice.reason}.")
    return system


def _verified_by(name: str, solver: FactorizedLU, words: str, given: Namespace) -> System:
    """A system whose solutions are held against the matrix that its solver knows."""
    return System(
        name,
        solver,
        lambda x: _product(solver.matrix, x, given.trans),
        lambda b, x: solver.backward_error(b, x, given.trans),
        words,
    )


def _triangle(name: str, matrix: Any, given: Namespace, options: dict[str, Any]) -> System:
    try:
        solver = factorized(matrix, lower=not given.upper, unit_diagonal=given.unit, **options)
    except BadArgument as wrong:
        if "not lower triangular" in str(wrong) or "not upper triangular" in str(wrong):
            raise BadArgument(f"{wrong}: --factor factors a matrix first") from None
        raise
    L = with_unit_diagonal(as_sparse(matrix).tocsr(), given.unit)
    kind = f"{'upper' if given.upper else 'lower'} triangle{', unit diagonal' if given.unit else ''}"
    return System(
        name,
        solver,
        lambda x: _product(L, x, given.trans),
        lambda b, x: solver.backward_error(b, x, given.trans),
        f"{L.nnz:,} entries; {kind}",
        triangle=L,
    )


def _product(A: Any, x: np.ndarray, trans: str) -> np.ndarray:
    if trans == "N":
        return np.asarray(A @ x)
    return np.asarray(A.T @ x if trans == "T" else (A.T @ x.conj()).conj())


def right_hand_sides(system: System, given: Namespace) -> np.ndarray:
    """Shape (n, k)."""
    n, letter = system.solver.shape[0], {"N": "A", "T": "A^T", "H": "A^H"}[given.trans]
    if given.rhs:
        if given.nrhs:
            raise BadArgument("--rhs brings right-hand sides, and --nrhs makes some: leave one out")
        return read_vectors(given.rhs, n, "right-hand side")
    if given.nrhs is None and system.rhs is not None:
        system.notes.append(f"b is what {system.name} brings.")
        return np.asarray(system.rhs)
    columns = 1 if given.nrhs is None else whole_number(given.nrhs, "--nrhs")
    if columns < 1:
        raise BadArgument(f"--nrhs is at least 1, not {columns}")
    if columns == 1:
        system.notes.append(f"No right-hand side was given: b = {letter}*1.")
        return system.multiply(np.ones((n, 1)))
    system.notes.append(f"No right-hand sides were given: B = {letter}*X, X drawn from [1, 2) by seed 0.")
    return system.multiply(np.random.default_rng(0).uniform(1, 2, (n, columns)))
