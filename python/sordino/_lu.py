"""Direct solves with the factors of a matrix, verified against it: :func:`factorized_lu`, and what it returns."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ._device import host_copy, is_complex_array, is_on_gpu, numbers_by_rows, taken
from ._direct import DirectSolution, check_overflow, check_trans, stacked
from ._factoring import Choice
from ._factors import Factors, as_factors, is_superlu
from ._libraries import Library, Numpy, library_of
from ._lu_arrays import Arrays
from ._lu_triangles import Renewal, Triangles
from ._matrix import as_csr
from ._residuals import Quality
from ._solution import check_on_failure
from ._triangular_options import known_options, whole
from .errors import BadArgument, NotConverged, NotConvergedWarning, Unsupported
from .io.output import OutputFile
from .io.plan_files import plan_file, write_plans
from .report.words import duration

#: Relative residuals that solves are verified by, if the caller says nothing.
RTOL = {"double": 1e-8, "single": 1e-4}
_AUTOMATIC = 3  # steps of refinement, the most
_ROUNDINGS = 16  # of a componentwise backward error that needs no refinement, as of triangles


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
    factors = as_factors(factors)
    return FactorizedLU(factors, None if A is None else matrix_of(factors, A), options)


class FactorizedLU:
    """A matrix of shape (n, n) by its factors, ready to be solved with; by :func:`splu` and :func:`factorized_lu`.

    Attributes
    ----------
    factors : Factors
    choice : Choice or None
        The ordering that :func:`splu` has taken, the reason, and the predicted seconds of all that were tried.
    dtype : dtype
    seconds : dict
        What ``ordering``, ``factoring`` and ``setup`` took; after an update the last two, of that.
    report : dict
        Of the last solve: ``seconds``, ``refinements`` (steps that were kept), and where A is known ``residuals``,
        before the first step and after each: the largest of ``||b - A x||_2 / ||b||_2`` of all columns; unless `refine`
        is 0 ``backward_errors``, alike, as :meth:`backward_error` says. Empty before.
    factor_again : function or None
        Of a matrix with the pattern of the one that was factored: what :meth:`update` takes of it.
    """

    def __init__(self, factors: Factors, matrix: Any, options: dict[str, Any]) -> None:
        start = time.perf_counter()
        self.factors, self.matrix = factors, matrix
        self.choice: Choice | None = None
        self.shape = (factors.n, factors.n)
        self.report: dict[str, Any] = {}
        self._triangles = Triangles(factors, known_options(options))
        self.dtype = self._triangles.dtype
        self._there: dict[str, Arrays] = {}
        self.factor_again: Callable[[Any], Renewal] | None = None
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
            Steps of iterative refinement with A, at most; a step that does not lessen the componentwise backward error,
            or the residual of an X that is not verified, is taken back. "auto": up to three, as long as that error is
            above 16 roundings or X is not verified; of factors without A those of each triangle.
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
        Reads both triangles once, and A once for the residual and, unless `refine` is 0, once for sizes, ``|A| |x|``,
        with a copy of A's values. Each step reads all of that again; most matrices need none, and others one.
        """
        check_trans(trans)
        check_on_failure(on_failure)
        steps = _AUTOMATIC if refine == "auto" else whole(refine, "refine", 0)
        if steps and refine != "auto" and self.matrix is None:
            raise BadArgument("refinement needs the matrix: give it to factorized_lu")
        wanted = RTOL["single" if self.dtype == np.float32 else "double"] if rtol is None else float(rtol)
        exact = _ROUNDINGS * float(np.finfo(self.dtype).eps) / 2 if refine == "auto" else 0.0

        def improved(arrays: Arrays, b: Any, x: Any) -> tuple[Any, Quality]:
            return arrays.refined(b, x, trans, steps, wanted, exact)

        start = time.perf_counter()
        by_triangles = refine if self.matrix is None else 0
        x, finite, found = self._solved(B, trans, by_triangles, None if self.matrix is None else improved)
        self.report = {"seconds": time.perf_counter() - start, "refinements": found.steps if found else 0}
        if found:
            self.report["residuals"] = found.residuals
            self.report |= {"backward_errors": found.errors} if found.errors else {}
        self._verify(x, finite, found, wanted, on_failure)
        return x

    def matvec(self, b: Any) -> Any:
        """X of A X = B by the factors alone, as a preconditioner: not verified, and refined by triangles only.

        With that an F is an operator, A^-1, of :class:`sordino.Solver` and of SciPy's methods: ``M=F``. Shapes and
        errors as in :meth:`solve`; cost: both triangles once.
        """
        return check_overflow(*self._solved(b, "N", "auto", None)[:2])

    def rmatvec(self, b: Any) -> Any:
        """X of A^H X = B, as :meth:`matvec`."""
        return check_overflow(*self._solved(b, "H", "auto", None)[:2])

    def _solved(
        self,
        B: Any,
        trans: str,
        by_triangles: int | str,
        improved: Callable[[Arrays, Any, Any], tuple[Any, Quality]] | None,
    ) -> tuple[Any, bool, Quality | None]:
        """X of the kind and shape of B, whether it is finite, and how good it is, which `improved` says.

        Parameters
        ----------
        by_triangles : int or "auto"
            Steps of each triangle's own refinement.
        improved : function of the arrays, b and x
            Refines x with A; its residual says whether x is finite.
        """
        there = self._stays(B, trans, by_triangles)
        library = library_of(B) if there else Numpy()
        with library.there():
            given = None if there else taken(B, self.shape[0], "b", as_numbers=True)
            b = stacked(given.columns) if given else numbers_by_rows(B, self.shape[0], self.dtype, library)
            arrays = self._arrays(library)
            x, found = arrays.solved(b, trans, by_triangles), None
            if improved:
                x, found = improved(arrays, b, x)
            finite = bool(found) or library.finite(x)
            if there:
                self._triangles.settle()
                if not (finite and _is_known(found)) and not library.finite(b):
                    raise BadArgument("b holds NaN or infinity")
            parts = list(np.ascontiguousarray(x.T)) if given else []
            return given.joined(parts) if given else x.reshape(B.shape), finite, found

    def _arrays(self, library: Library) -> Arrays:
        """What solves need in memory of a library, copied there once."""
        where = library.name
        if where not in self._there:
            triangles = self._triangles.lower, self._triangles.upper
            self._there[where] = Arrays(self.factors, self.matrix, triangles, library, self.dtype)
        return self._there[where]

    def _stays(self, B: Any, trans: str, by_triangles: int | str) -> bool:
        """Whether X is computed, and verified, on GPUs for B on one of them."""
        triangles = self._triangles.parts.values()
        if not all(t.solves_on_gpus for t in triangles) or not is_on_gpu(B, "b"):
            return False
        complex_there = is_complex_array(B) or (self.matrix is not None and self.matrix.dtype.kind == "c")
        if (complex_there and self.dtype.kind == "f") or not library_of(B).has_matrices:
            return False
        return not any(t.wants_steps(trans, by_triangles) for t in triangles)

    def update(self, new: Any, A: Any = None) -> None:
        """New values in the same pattern: orders, blocks and plans stay.

        Parameters
        ----------
        new : sparse or dense array, Factors, or SuperLU of SciPy
            Of :func:`splu`, :func:`ilu0` and :func:`ic0` another matrix with the pattern of the one that they factored,
            which is factored anew: by splu in the same order and with the same pivots. Of every F other factors, whose
            triangles have the patterns of the old ones; their orders and scales may be others.
        A : sparse or dense array, shape (n, n), optional
            What such factors are of, if solves are to be verified by it.

        Raises
        ------
        BadArgument
            Another pattern, or what was refused at first; a pivot of splu that is zero now; factors without A where
            solves were verified by one. The old values stay.
        PeerFailed
            Of engine processes, which all must call it: another process did not within `timeout` seconds.

        Notes
        -----
        Cost: factoring, and setting up both triangles without finding supernodes and planning; ``seconds`` has both.
        Pivots that were large may be small with new values: then solves take steps of refinement, or are not verified,
        and :func:`splu` chooses others. If entries of splu's factors had cancelled to zero and no longer do, triangles
        are set up anew, with them.
        """
        start = time.perf_counter()
        renewal = self._renewal(new, A)
        factored = time.perf_counter()
        self._triangles.renew(renewal)
        self.factors, self.matrix, self._there = renewal.factors, renewal.matrix, {}
        self.seconds = {"factoring": factored - start, "setup": time.perf_counter() - factored}

    def _renewal(self, new: Any, A: Any) -> Renewal:
        if self.factor_again and not isinstance(new, Factors) and not is_superlu(new):
            if A is not None:
                raise BadArgument("A goes with new factors, and the first argument is a matrix: leave A out")
            return self.factor_again(new)
        factors = as_factors(new)
        if factors.n != self.shape[0]:
            raise BadArgument(f"the new factors have {factors.n:,} rows, and the old ones {self.shape[0]:,}")
        if A is None and self.matrix is not None:
            raise BadArgument("solves are verified with the matrix: give that of the new factors, too, as A")
        return Renewal(factors, None if A is None else matrix_of(factors, A))

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
        b, x = (stacked(taken(v, n, name, as_numbers=True).columns) for v, name in ((B, "b"), (X, "x")))
        if b.shape != x.shape:
            raise BadArgument(f"b has {b.shape[1]} columns, and x {x.shape[1]}")
        residuals = self._arrays(Numpy()).residuals
        return residuals.backward_error(residuals.left(b, x, trans), b, x, trans)

    def _verify(
        self, joined: Any, finite: bool, found: Quality | None, wanted: float, on_failure: str
    ) -> None:
        if found and not found.residuals[-1] <= wanted:
            reason = f"||b - A x|| / ||b|| is {found.residuals[-1]:.2e}, above {wanted:g}"
        elif not finite:
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
        write_plans(plan_file(path, force), self._triangles.plans())

    @property
    def statistics(self) -> dict[str, Any]:
        """``lower`` and ``upper`` (None of Cholesky's factors): those of each triangle; ``seconds``; ``ordering``, its
        ``ordering_reason``, and the predicted seconds of all ``orderings`` that were tried."""
        lower, upper = self._triangles.lower, self._triangles.upper
        return {
            **(self.choice or Choice()).facts,
            "lower": lower.statistics,
            "upper": upper.statistics if upper else None,
            "seconds": dict(self.seconds),
        }

    def __repr__(self) -> str:
        parts = [t.statistics for t in self._triangles.parts.values()]
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


def matrix_of(factors: Factors, A: Any) -> Any:
    """The matrix of factors by its rows, in memory of its own."""
    matrix = as_csr(host_copy(A, "the matrix"), own=True).matrix()
    if matrix.shape[0] != factors.n:
        raise BadArgument(f"the matrix has {matrix.shape[0]:,} rows, and its factors {factors.n:,}")
    return matrix


def _is_known(found: Quality | None) -> bool:
    """Whether residuals, if there are any, are numbers, as they are not where NaN or infinity is in b or x."""
    return found is None or bool(np.isfinite(found.residuals[-1]))
