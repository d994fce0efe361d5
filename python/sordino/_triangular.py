"""A sparse triangle that is set up once and solved with many times: :class:`FactorizedTriangle`."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np

from ._columns import Columns
from ._device import LEGACY_DEFAULT_STREAM, capsule_of, taken
from ._direct import check_overflow, check_trans, stacked
from ._libraries import Library, library_of
from ._matrix import all_finite
from ._native import core, translated
from ._residuals import Residuals
from ._solution import callers_level
from ._triangular_arrays import solved_there, stays
from ._triangular_options import whole
from .errors import BadArgument, TinyPivotWarning, Unsupported
from .io.output import OutputFile
from .io.plan_files import plan_file, write_plans
from .log import logger
from .report.words import duration


class FactorizedTriangle:
    """A triangular matrix of shape (n, n), ready to be solved with; by :func:`sordino.factorized`.

    Attributes
    ----------
    dtype : dtype
        float32, float64 or complex128: of what is computed.
    lower, unit_diagonal : bool
    report : dict
        Of the last solve: ``seconds``, ``refinements`` (steps that were kept), and with `refine` ``backward_errors``,
        before the first step and after each; where ranks were chosen ``ranks`` and ``ranks_reason``. Empty before.
    """

    def __init__(self, columns: Columns, *, unit: bool, options: dict[str, Any]) -> None:
        self.columns = columns
        self.lower, self.unit_diagonal = columns.lower, unit
        self.options = options | {"plans": None}  # what is taken from a file is not kept twice
        self.shape = (columns.n, columns.n)
        self.dtype = columns.values.dtype
        self.solves_on_gpus = options["engine"] == "cuda" and options["algorithm"] == "ours"
        self.report: dict[str, Any] = {}
        self.residuals: dict[str, Residuals] = {}  # by library and GPU
        self._wanted_steps: dict[str, int] = {}
        self._chosen: dict[str, dict[str, Any]] = {}
        self._process = os.getpid()
        with translated():
            words = options | {"plans": self._plans_of(options)}
            self._native = core().Triangle(columns.begin, columns.rows, columns.values, unit, words)

    def look_at_pivots(self, name: str = "") -> None:
        """Warn of the tiniest pivot, if one is tiny; the triangle is called `name` in the sentence."""
        s = self.statistics
        if not s["tiny_pivots"]:
            return
        row, size, largest, in_column = s["tiny_pivot"]
        others = f", as {s['tiny_pivots'] - 1:,} more are beside theirs" if s["tiny_pivots"] > 1 else ""
        warnings.warn(
            f"{name}the pivot of row {row:,} is tiny, {size:.3g} beside {largest:.3g} in its "
            f"{'column' if in_column == self.lower else 'row'}{others} (rows are counted from 0): the triangle may be "
            "singular",
            TinyPivotWarning,
            stacklevel=callers_level(),
        )

    def solve(self, B: Any, trans: str = "N", refine: int | str = "auto") -> Any:
        """Solve L X = B, with trans="T" L^T X = B, with "H" L^H X = B.

        Parameters
        ----------
        B : array_like, shape (n,) or (n, k), real or complex
            Of NumPy, CuPy or what speaks DLPack. One on a GPU stays there with ``engine="cuda"``, unless it is complex
            and the triangle real, or solves are refined and it is of another library than CuPy or PyTorch.
        trans : {"N", "T", "H"}
        refine : int or "auto"
            Steps of iterative refinement, at most; a step that does not lessen the backward error is taken back.
            "auto": as many as a trial before the first such solve wants, where inverting an ill-conditioned block
            costs digits: errors above 16 roundings and four times substitution's. Of most triangles that is none.

        Returns
        -------
        array of the kind and shape of B
            In the triangle's precision; complex if the triangle or B is. Its bits do not depend on ranks or threads
            (with ``algorithm="paper"`` they differ from solve to solve).

        Raises
        ------
        BadArgument
            B of another shape, NaN or infinity inside.
        NotConverged
            X overflows; carries it.
        PeerFailed
            Nothing moved for `timeout` seconds, or another process failed.

        Notes
        -----
        Reads the triangle once, for all columns, and thrice for each step. The first solve of a direction plans it.
        A B that stays on a GPU is read, and X written, in its library's current stream, which is waited for once.
        """
        check_trans(trans)
        steps = refine if refine == "auto" else whole(refine, "refine", 0)
        start = time.perf_counter()
        if stays(self, B, trans, steps):
            x, errors, finite = solved_there(self, B, trans, steps)
            self._reported(start, errors, trans)
            return check_overflow(x, finite)
        given = taken(B, self.shape[0], "b", as_numbers=True)
        x, errors = self.solve_columns(stacked(given.columns), trans, steps)
        self._reported(start, errors, trans)
        joined = given.joined(list(np.ascontiguousarray(x.T)) if x.shape[1] > 1 else [x[:, 0]])
        return check_overflow(joined, all_finite(np.ascontiguousarray(x)))

    @property
    def hermitian(self) -> bool:
        """Whether the triangle is a real diagonal: no other one is its own conjugate transpose."""
        n, columns = self.shape[0], self.columns
        if len(columns.rows) > n or np.any(columns.rows != np.repeat(np.arange(n), np.diff(columns.begin))):
            return False
        return self.unit_diagonal or not np.any(np.imag(columns.values))

    def matvec(self, b: Any) -> Any:
        """X of L X = B: with that a triangle is an operator, L^-1, of :class:`sordino.Solver` and of SciPy, ``M=F``.

        It is not symmetric: for methods that need that, give ``M=F.cholesky()``. Shapes and errors as of :meth:`solve`.
        """
        return self.solve(b)

    def rmatvec(self, b: Any) -> Any:
        """X of L^H X = B, as :meth:`matvec`."""
        return self.solve(b, "H")

    def cholesky(self) -> Any:
        """(L L^H)^-1, of an upper triangle (U^H U)^-1, as an operator that is Hermitian: ``M=F.cholesky()``.

        Of L of an incomplete factorisation of a Hermitian matrix that is its preconditioner. A pair of triangles,
        ``M=(L, U)``, is (L U)^-1. Cost of an application: two solves.
        """
        from ._triangular_pair import cholesky_of  # which is made of triangles

        return cholesky_of(self)

    def wants_steps(self, trans: str, refine: int | str) -> bool:
        """Whether solves are refined."""
        return self.steps(trans, refine) > 0

    def steps(self, trans: str, refine: int | str) -> int:
        """How many steps of refinement solves take, at most; of "auto" found out once."""
        self._check_process()
        if not isinstance(refine, str):
            return refine
        way = self._way(trans)[0]
        if way not in self._wanted_steps:
            with translated():
                self._wanted_steps[way] = self._native.refinements_wanted(way)
        return self._wanted_steps[way]

    def solve_there(self, b: Any, trans: str) -> Any:
        """X beside b on a GPU, shape (n, k), there when the library's current stream has come so far.

        NaN and infinity of b are in x, too. What has failed by then is told by the next solve, or by :meth:`settle`.
        """
        library = library_of(b)
        with library.there():
            return self.put_there(b, trans, library, waits=False)[0]

    def put_there(self, b: Any, trans: str, library: Library, *, waits: bool) -> tuple[Any, bool]:
        """As :meth:`solve_there`, by b's library, whose GPU is current; if it `waits`, also whether x is finite."""
        way, conjugated = self._way(trans)
        stream = library.stream()
        place = LEGACY_DEFAULT_STREAM if stream is None else stream
        with translated():
            b = library.rows(library.conjugated(b) if conjugated else b, self.dtype)
            x = library.like(b)
            finite: bool = self._native.solve_there(
                capsule_of(b, place), capsule_of(x, place), way, place, waits or stream is None
            )
            return (library.conjugated(x) if conjugated else x), finite

    def settle(self) -> None:
        """Wait for all solves on GPUs; raise what one of them has failed of."""
        with translated():
            self._native.settle()

    def _reported(self, start: float, errors: list[float], trans: str) -> None:
        self.report = {"seconds": time.perf_counter() - start, "refinements": max(len(errors) - 1, 0)}
        self.report |= {"backward_errors": errors} if errors else {}
        self.report |= self._ranks_chosen(self._way(trans)[0])

    def solve_columns(
        self, b: np.ndarray, trans: str, refine: int | str = 0
    ) -> tuple[np.ndarray, list[float]]:
        """X, shape (n, k), and the backward errors of refining; numbers are checked already, and real or complex."""
        if b.dtype.kind == "c" and self.dtype.kind == "f":
            parts = np.concatenate([b.real, b.imag], axis=1)
            x, errors = self.solve_columns(parts, trans, refine)
            k = b.shape[1]
            return x[:, :k] + 1j * x[:, k:], errors
        steps, errors = self.steps(trans, refine), []
        way, conjugated = self._way(trans)
        b = np.ascontiguousarray(b.conj() if conjugated else b, dtype=self.dtype)
        with translated():
            x = self._native.solve(b, way)
            if steps:
                x, errors = self._native.refine(b, x, way, steps)
        return (x.conj() if conjugated else x), errors

    def _ranks_chosen(self, way: str) -> dict[str, Any]:
        """How many ranks solve in this way and why, where that was chosen; said once."""
        if self.options["ranks"] > 0:
            return {}
        direction = "forward" if way == "N" else "backward"
        if direction not in self._chosen:
            ranks, reason = (self.statistics[f"{direction}_{fact}"] for fact in ("ranks", "reason"))
            self._chosen[direction] = {"ranks": ranks, "ranks_reason": reason}
            logger.info("triangular solves: %s", reason)
        return self._chosen[direction]

    def _check_process(self) -> None:
        if os.getpid() != self._process:  # its threads are not here
            raise Unsupported("this triangle was set up before a fork and works in the parent process only")

    def backward_error(self, B: Any, X: Any, trans: str = "N") -> float:
        """The componentwise backward error of X: the largest of ``|B - L X| / (|L| |X| + |B|)``, entry by entry.

        That is the smallest relative change of the entries of L and B with which X is exact. Substitution leaves some
        1e-16 in float64. Shapes as in :meth:`solve`; cost: a pass over the triangle by one thread.
        """
        check_trans(trans)
        n = self.shape[0]
        b, x = (stacked(taken(v, n, name, as_numbers=True).columns) for v, name in ((B, "b"), (X, "x")))
        if b.shape != x.shape:
            raise BadArgument(f"b has {b.shape[1]} columns, and x {x.shape[1]}")
        if self.dtype.kind == "f" and "c" in (b.dtype.kind, x.dtype.kind):
            return max(
                self.backward_error(b.real, x.real, trans),
                self.backward_error(b.imag, x.imag, trans),
            )
        way, conjugated = self._way(trans)
        b, x = (np.ascontiguousarray(v.conj() if conjugated else v, dtype=self.dtype) for v in (b, x))
        with translated():
            return max(self._native.backward_errors(b, x, way))

    def update(self, values: Any) -> None:
        """New values in the same pattern: blocks and plans stay.

        Parameters
        ----------
        values : SciPy sparse matrix of the same pattern, or ndarray of shape (nnz,)
            Bare values stand in the order of the CSR or CSC matrix that this was made of.

        Raises
        ------
        BadArgument
            Another pattern, another number of values, or what :func:`factorized` refuses; the old ones stay.
        PeerFailed
            Of engine processes, which all must call it: another process did not within `timeout` seconds.

        Notes
        -----
        Cost: as setting up, without finding supernodes and planning. The GIL is released. Processes take new values all
        together or not at all: a pivot of zero in one of them is refused in all. Values are not compared.
        """
        self.take(self.columns.new_values(values))
        self.look_at_pivots()

    def take(self, new: np.ndarray) -> None:
        """As :meth:`update`, of values that are checked, in the order of `columns`."""
        with translated():
            self._native.update(new)
        self.columns.values = new
        self._wanted_steps, self.residuals, self._chosen = {}, {}, {}

    def _plans_of(self, options: dict[str, Any]) -> dict[str, np.ndarray] | None:
        given = options["plans"]
        return None if given is None else given.of(self._kind)

    @property
    def _kind(self) -> str:
        return "lower" if self.lower else "upper"

    def save_plans(self, path: OutputFile | str | os.PathLike[str], force: bool = False) -> None:
        """Write the supernodes, and the plans of the directions that were solved so far, for ``factorized(plans=...)``.

        Parameters
        ----------
        path : path or OutputFile
            Named ``.npz``; a path must not exist, unless `force`.
        force : bool
            Overwrite a file that exists.

        Raises
        ------
        BadArgument, FileError
            Another ending, a file that exists, a folder that cannot be written to.
        Unsupported
            Algorithm paper, which has no such plans; ranks that are chosen by prediction, before the first solve, or
            where each direction has chosen its own.

        Notes
        -----
        A file is good for other values of the pattern, for other engines, and for any number of threads. It holds
        a version, the pattern's fingerprint and a checksum. ``statistics`` tells what it saves: ``symbolic_seconds``,
        a part of ``setup_seconds``, and ``plan_seconds``. Of a triangle that is kept by rows it says just that, which
        is then not found out again: levels take no longer to make than to read.
        """
        write_plans(plan_file(path, force), {self._kind: self.plans()})

    def plans(self) -> dict[str, np.ndarray]:
        """What :meth:`save_plans` writes, as arrays."""
        with translated():
            found: dict[str, np.ndarray] = self._native.plans()
        return found

    @property
    def statistics(self) -> dict[str, Any]:
        """Of structure, memory and time.

        ``n``, ``entries`` (as given), ``by_rows`` (whether it is kept so, and not by supernodes), ``stored_entries``
        (with the zeros that make supernodes wider), ``stored_bytes`` (of their values), ``memory_bytes`` (of all that
        is kept, but the triangle as it was given), ``blocks`` (0 by rows), ``longest_chain`` (blocks, or rows, that
        wait for one another), ``tiny_pivots`` (how many; see :func:`factorized`) and ``tiny_pivot`` (of the one that is
        smallest beside its row or column: which row, its size, the size of the largest entry there, and whether that is
        in its column, of L, or of U^T), ``growth`` (by how much more roundings inverted blocks leave than substitution,
        of an x whose entries are alike: above 1.8e12 in float64, 5e5 in float32, rows are kept instead),
        ``forward_tasks`` and ``backward_tasks`` (0 until such a solve is planned), ``ranks`` (0
        until they are chosen), ``forward_ranks`` and ``backward_ranks`` (as tasks), ``ranks_reason`` (why so many,
        where they were chosen; of one of them ``forward_reason``, ``backward_reason``), ``width`` (most columns of a
        block; 0 by rows) and ``width_reason`` (why, where it was chosen), ``threads``, ``setup_seconds`` (of the last
        update, after one), ``symbolic_seconds`` (a part of the first setup: of finding supernodes, or checking saved
        ones), ``width_seconds`` (a part of that: of choosing the width), ``plan_seconds`` (of saved plans: of checking
        them), and ``modelled_seconds`` (of the last solve, by engine model).
        """
        found: dict[str, Any] = self._native.statistics()
        return found

    def _way(self, trans: str) -> tuple[str, bool]:
        """How the core solves with what it holds, an upper triangle transposed; and whether b and x are conjugated."""
        if self.lower:
            return trans, False
        return {"N": "T", "T": "N", "H": "N"}[trans], trans == "H" and self.dtype.kind == "c"

    def __repr__(self) -> str:
        s = self.statistics
        form = f"by rows in {s['longest_chain']:,} levels" if s["by_rows"] else f"in {s['blocks']:,} blocks"
        return (
            f"<sordino.FactorizedTriangle, {self._kind}, {self.dtype}, of {s['n']:,} rows and "
            f"{s['entries']:,} entries, {s['stored_bytes'] / 2**20:,.1f} MiB {form}, "
            f"set up in {duration(s['setup_seconds'])}>"
        )

    def __reduce__(self) -> Any:
        raise Unsupported(
            "a FactorizedTriangle holds memory of the compiled module, and cannot be pickled or copied"
        )
