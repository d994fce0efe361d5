"""Direct solves with the factors of a matrix, verified against it: :func:`splu`, :func:`factorized_lu`."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ._columns import Columns
from ._device import checked_rows, host_copy, is_complex_array, is_on_gpu, taken
from ._direct import DirectSolution, check_trans
from ._factoring import Choice, factored, prepared
from ._factors import Factors, of_superlu
from ._libraries import Library, Numpy, library_of
from ._lu_arrays import Arrays
from ._matrix import as_csr
from ._solution import check_on_failure
from ._triangular import FactorizedTriangle
from ._triangular_options import checked_options, whole
from .errors import BadArgument, NotConverged, NotConvergedWarning, SordinoError, Unsupported
from .io.output import OutputFile
from .io.plan_files import plan_file, write_plans
from .report.words import duration

_T = TypeVar("_T")

#: Relative residuals that solves are verified by, if the caller says nothing.
RTOL = {"double": 1e-8, "single": 1e-4}
_AUTOMATIC = 3  # steps of refinement, the most


def splu(A: Any, ordering: str = "auto", **options: Any) -> FactorizedLU:
    """Factor a sparse matrix by SciPy's SuperLU, and set up both triangles for fast solves.

    Parameters
    ----------
    A : SciPy sparse matrix or array of any format, or dense array, shape (n, n)
        float32, float64 or complex128, in which it is factored and solved; complex64 as complex128, others as
        float64.
    ordering : {"auto", "metis", "mmd", "colamd", "natural"}
        Which order of columns keeps factors sparse: METIS's nested dissection of the pattern of A + A^T, minimum degree
        of the same, approximate minimum degree of A^T A, or the columns as they are. "auto" is metis of a symmetric
        pattern, or mmd without pymetis. Of all others it factors by colamd, and by metis and natural where that is
        sure to be cheap, and takes the one whose solves are predicted to be the fastest (``ordering_reason``).
    **options
        ``ranks``, ``threads``, ``width``, ``algorithm``, ``layout``, ``engine``, ``devices``, ``blocks``, ``timeout``,
        ``machine``, ``seed`` and ``plans`` of :func:`factorized`.

    Returns
    -------
    FactorizedLU

    Raises
    ------
    BadArgument
        What :func:`solve` refuses, too; a matrix that is singular; an option out of range.
    Unsupported
        ``ordering="metis"`` without pymetis.

    Notes
    -----
    Rows are scaled by powers of two, so that the largest entry of each is about 1, unless the pattern is symmetric:
    then pivots stay on the diagonal as long as they are not tiny. SciPy factors on one thread and does not release
    the GIL. "auto" of other patterns costs up to three factorisations, where colamd's is one: the others are tried if,
    whichever rows are pivots, they take at most 3e9 multiplications, or ten times colamd's, and never above 3e10.
    """
    _options(options)
    begun = time.perf_counter()
    matrix = prepared(A)
    found = factored(matrix, ordering)
    F = FactorizedLU(found.factors, matrix, options)
    F.choice = found.choice
    factoring = found.factoring_seconds
    ordering_seconds = found.done_at - begun - factoring
    F.seconds = {"ordering": ordering_seconds, "factoring": factoring, **F.seconds}
    return F


def factorized_lu(factors: Any, A: Any = None, **options: Any) -> FactorizedLU:
    """Set up the factors of a factorisation that was made elsewhere for fast solves.

    Parameters
    ----------
    factors : SuperLU of SciPy's ``splu`` or ``spilu``, or Factors
    A : sparse or dense array, shape (n, n), optional
        The matrix, which solves are then verified by.
    **options
        ``ranks``, ``threads``, ``width``, ``algorithm``, ``layout``, ``engine``, ``devices``, ``blocks``, ``timeout``,
        ``machine``, ``seed`` and ``plans`` of :func:`factorized`.

    Returns
    -------
    FactorizedLU

    Raises
    ------
    BadArgument
        What :func:`factorized` refuses, too, of either triangle.

    Examples
    --------
    >>> lu = scipy.sparse.linalg.splu(A)                 # doctest: +SKIP
    >>> F = sordino.factorized_lu(lu, A)                 # doctest: +SKIP
    >>> x = F.solve(b)                                   # doctest: +SKIP
    """
    if not isinstance(factors, Factors):
        if not all(hasattr(factors, name) for name in ("L", "U", "perm_r", "perm_c")):
            raise BadArgument(
                "factors are those of scipy.sparse.linalg.splu or spilu, or sordino.Factors, not a "
                f"{type(factors).__name__}"
            )
        factors = of_superlu(factors)
    matrix = None
    if A is not None:
        matrix = as_csr(host_copy(A, "the matrix"), own=True).matrix()
        if matrix.shape[0] != factors.n:
            raise BadArgument(f"the matrix has {matrix.shape[0]:,} rows, and its factors {factors.n:,}")
    return FactorizedLU(factors, matrix, options)


class FactorizedLU:
    """A matrix of shape (n, n) by its factors, ready to be solved with; by :func:`splu` and :func:`factorized_lu`.

    Attributes
    ----------
    factors : Factors
    choice : Choice or None
        That ordering, the reason, and the predicted seconds of all orderings that were tried.
    dtype : dtype
    seconds : dict
        What ``ordering``, ``factoring`` and ``setup`` took.
    report : dict
        Of the last solve: ``seconds``, ``refinements`` (steps that were kept), and where A is known ``residuals``,
        before the first step and after each: the largest of ``||b - A x||_2 / ||b||_2`` of all columns. Empty before.
    """

    def __init__(self, factors: Factors, matrix: Any, options: dict[str, Any]) -> None:
        start = time.perf_counter()
        options = _options(options)
        self.factors, self.matrix = factors, matrix
        self.choice: Choice | None = None
        self.shape = (factors.n, factors.n)
        self.report: dict[str, Any] = {}
        self._lower = _triangle(factors.lower, True, factors.unit_lower, options, "L")
        self._upper: FactorizedTriangle | None = None
        if factors.upper is not None:
            self._upper = _triangle(factors.upper, False, factors.unit_upper, options, "U")
        kinds = [self._lower.dtype, *([self._upper.dtype] if self._upper else [])]
        self.dtype = np.result_type(*kinds)
        self._there: dict[str, Arrays] = {}
        self.seconds = {"setup": time.perf_counter() - start}

    @property
    def ordering(self) -> str | None:
        """Which one is taken; None of factors that were made elsewhere."""
        return self.choice.ordering if self.choice else None

    def solve(
        self,
        B: Any,
        trans: str = "N",
        refine: int | str = "auto",
        *,
        rtol: float | None = None,
        on_failure: str = "raise",
    ) -> Any:
        """Solve A X = B, with trans="T" A^T X = B, with "H" A^H X = B.

        Parameters
        ----------
        B : array_like, shape (n,) or (n, k), real or complex
            Of NumPy, CuPy or what speaks DLPack. One of CuPy or PyTorch on a GPU stays there with ``engine="cuda"``,
            unless it or A is complex and the factors real, or triangles want refinement and A is not known; else it is
            copied to the CPU, and X back.
        trans : {"N", "T", "H"}
        refine : int or "auto"
            Steps of iterative refinement with A, at most; a step that does not lessen the residual is taken back.
            "auto": up to three, as long as X is not verified; of factors without A those of each triangle.
        rtol : float, optional
            X is verified if ``||b - A x||_2 <= rtol ||b||_2`` for each column, recomputed with A: 1e-8, or 1e-4 of
            factors in float32.
        on_failure : {"raise", "warn", "return"}
            What happens to an X that is not.

        Returns
        -------
        array of the kind and shape of B
            In the factors' precision; complex if the factors or B are.

        Raises
        ------
        NotConverged
            With ``on_failure="raise"``; carries X. Factors without A are verified by nothing.
        BadArgument
            B of another shape, NaN or infinity inside; `refine` without A.

        Notes
        -----
        Reads both triangles once, and A once for the residual and once for each step.
        """
        check_trans(trans)
        check_on_failure(on_failure)
        steps = _AUTOMATIC if refine == "auto" else whole(refine, "refine", 0)
        if steps and refine != "auto" and self.matrix is None:
            raise BadArgument("refinement needs the matrix: give it to factorized_lu")
        wanted = RTOL["single" if self.dtype == np.float32 else "double"] if rtol is None else float(rtol)
        enough = wanted if refine == "auto" else 0.0
        if self._stays(B, trans, refine):
            library = library_of(B)
            with library.there():
                b = checked_rows(B, self.shape[0], self.dtype)
                x, residuals = self._solved(library, b, trans, refine, steps, enough)
                joined, finite = x.reshape(B.shape), bool(residuals) or library.finite(x)
        else:
            given = taken(B, self.shape[0], "b", as_numbers=True)
            b = np.stack(given.columns, axis=1)
            x, residuals = self._solved(Numpy(), b, trans, refine, steps, enough)
            joined, finite = given.joined(list(np.ascontiguousarray(x.T))), bool(np.isfinite(x).all())
        self._verify(joined, finite, residuals, wanted, on_failure)
        return joined

    def _solved(
        self, library: Library, b: Any, trans: str, refine: int | str, steps: int, enough: float
    ) -> tuple[Any, list[float]]:
        """X, shape (n, k), and where A is known its residuals."""
        start = time.perf_counter()
        arrays = self._arrays(library)
        x = arrays.solved(b, trans, refine if self.matrix is None else 0)
        residuals: list[float] = []
        if self.matrix is not None:
            x, residuals = arrays.refined(b, x, trans, steps, enough)
        self.report = {"seconds": time.perf_counter() - start, "refinements": max(len(residuals) - 1, 0)}
        if residuals:
            self.report["residuals"] = residuals
        return x, residuals

    def _arrays(self, library: Library) -> Arrays:
        """What solves need in memory of a library, copied there once."""
        where = library.name
        if where not in self._there:
            triangles = self._lower, self._upper
            self._there[where] = Arrays(self.factors, self.matrix, triangles, library, self.dtype)
        return self._there[where]

    def _stays(self, B: Any, trans: str, refine: int | str) -> bool:
        """Whether X is computed, and verified, on GPUs for B on one of them."""
        triangles = [t for t in (self._lower, self._upper) if t]
        if not all(t.solves_on_gpus for t in triangles) or not is_on_gpu(B, "b"):
            return False
        complex_there = is_complex_array(B) or (self.matrix is not None and self.matrix.dtype.kind == "c")
        if (complex_there and self.dtype.kind == "f") or not library_of(B).has_matrices:
            return False
        return self.matrix is not None or not any(t.wants_steps(trans, refine) for t in triangles)

    def backward_error(self, B: Any, X: Any, trans: str = "N") -> float:
        """The componentwise backward error of X: the largest of ``|B - A X| / (|A| |X| + |B|)``, entry by entry.

        That is the smallest relative change of the entries of A and B with which X is exact. Shapes as in
        :meth:`solve`.

        Raises
        ------
        BadArgument
            The matrix is not known.
        """
        check_trans(trans)
        if self.matrix is None:
            raise BadArgument("a backward error needs the matrix: give it to factorized_lu")
        n = self.shape[0]
        b, x = (
            np.stack(taken(v, n, name, as_numbers=True).columns, axis=1) for v, name in ((B, "b"), (X, "x"))
        )
        if b.shape != x.shape:
            raise BadArgument(f"b has {b.shape[1]} columns, and x {x.shape[1]}")
        off = np.abs(self._arrays(Numpy()).left(b, x, trans))
        whole = abs(self.matrix if trans == "N" else self.matrix.T) @ np.abs(x) + np.abs(b)
        return float(np.max(np.divide(off, whole, out=np.zeros_like(off), where=off > 0)))

    def _verify(
        self, joined: Any, finite: bool, residuals: list[float], wanted: float, on_failure: str
    ) -> None:
        if residuals and not residuals[-1] <= wanted:
            reason = f"||b - A x|| / ||b|| is {residuals[-1]:.2e}, above {wanted:g}"
        elif not residuals and not finite:
            reason = "the solution overflows"
        else:
            return
        if on_failure == "raise":
            raise NotConverged(DirectSolution(joined, "inaccurate", reason))
        if on_failure == "warn":
            warnings.warn(f"inaccurate: {reason}", NotConvergedWarning, stacklevel=3)

    def save_plans(self, path: OutputFile | str | os.PathLike[str], force: bool = False) -> None:
        """Write the supernodes and plans of both triangles, as :meth:`FactorizedTriangle.save_plans` does of one.

        A later factorisation can take them (``plans=path``) as long as its factors have the same patterns. What is
        refused names the triangle, ``L:`` or ``U:``, and then no file is written.
        """
        found = {"lower": _named("L", self._lower.plans)}
        if self._upper is not None:
            found["upper"] = _named("U", self._upper.plans)
        write_plans(plan_file(path, force), found)

    @property
    def statistics(self) -> dict[str, Any]:
        """``lower`` and ``upper`` (None of Cholesky's factors): those of each triangle; ``seconds``; ``ordering``, its
        ``ordering_reason``, and the predicted seconds of all ``orderings`` that were tried."""
        return {
            **(self.choice or Choice()).facts,
            "lower": self._lower.statistics,
            "upper": self._upper.statistics if self._upper else None,
            "seconds": dict(self.seconds),
        }

    def __repr__(self) -> str:
        parts = [t.statistics for t in (self._lower, self._upper) if t]
        size = sum(part["stored_bytes"] for part in parts) / 2**20
        return (
            f"<sordino.FactorizedLU, {self.dtype}, of {self.shape[0]:,} rows, "
            f"{sum(part['entries'] for part in parts):,} entries of its factors, {size:,.1f} MiB, "
            f"set up in {duration(sum(self.seconds.values()))}>"
        )

    def __reduce__(self) -> Any:
        raise Unsupported(
            "a FactorizedLU holds memory of the compiled module, and cannot be pickled or copied"
        )


def _options(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return checked_options(**given)
    except TypeError:
        known = (
            "ranks, threads, width, algorithm, layout, engine, devices, blocks, timeout, machine, seed, plans"
        )
        raise BadArgument(f"options of a triangular solve are {known}, not {', '.join(given)}") from None


def _triangle(T: Any, lower: bool, unit: bool, options: dict[str, Any], name: str) -> FactorizedTriangle:
    return _named(name, lambda: FactorizedTriangle(Columns(T, lower=lower), unit=unit, options=options))


def _named(name: str, make: Callable[[], _T]) -> _T:
    """What `make` returns; what it refuses says of which triangle it is."""
    try:
        return make()
    except SordinoError as wrong:
        raise type(wrong)(f"{name}: {wrong}") from None
