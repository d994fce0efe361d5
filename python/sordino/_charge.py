"""Conductors at given potentials: :func:`bem` finds the charge on their surfaces."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._hmatrix import HMatrix, hmatrix
from ._hmatrix_options import check_builds
from ._hmatrix_parts import part_for
from ._hmatrix_trial import check_gpus_of, try_solver
from ._once import solve
from ._solution import Solution, check_on_failure
from .errors import BadArgument, Unsupported, shown
from .io import read_surface
from .report.words import count
from .surfaces import Surface, from_words
from .surfaces.words import is_shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._callbacks import Callback
    from ._option_types import OnceOptions

#: The permittivity of vacuum, in F/m: CODATA 2022.
EPSILON_0 = 8.8541878188e-12


@dataclass(frozen=True)
class Charge:
    """What :func:`sordino.bem` found; the shapes (.., k) are those of k right-hand sides.

    Attributes
    ----------
    surface : Surface
    density : ndarray, shape (n,) or (n, k)
        Charge on each triangle, on both sides together where the surface is open: C/m^2.
    capacitance : ndarray, shape (c, c), or None
        Charge on conductor i where conductor j is at 1 V and all others at 0 V: farads. Symmetric but for the error of
        the triangles and the tolerance; None unless asked for.
    solution : Solution
        Status, history and ledger; its columns are those of `density`, then one for each conductor.
    H : HMatrix, shape (n, n)
        The compressed matrix, from densities to potentials.
    """

    surface: Surface
    density: np.ndarray
    capacitance: np.ndarray | None
    solution: Solution
    H: HMatrix

    @property
    def charge(self) -> np.ndarray:
        """Charge of each conductor: coulombs. Shape (c,) or (c, k)."""
        return self.surface.totals(self.density)

    @property
    def dipole(self) -> np.ndarray:
        """Dipole moment about the origin: C m. Shape (3,) or (3, k)."""
        return (self.surface.centroids * self.surface.areas[:, None]).T @ self.density

    def __repr__(self) -> str:
        return f"<sordino.Charge on {self.surface!r}: {self.solution.status}, {self.solution.iterations} iterations>"


def bem(
    surface: Surface | str | os.PathLike[str],
    *,
    potential: Any = None,
    field: Any = None,
    capacitance: bool = False,
    eps: float = 1e-4,
    eta: float = 2.0,
    leaf: int = 15,
    compression: str = "aca+",
    recompress: bool = True,
    most_rank: int | None = None,
    threads: int | None = None,
    coarse: float | None = None,
    coarse_rank: int | None = None,
    on_failure: str = "raise",
    callback: Callback | None = None,
    **options: Unpack[OnceOptions],
) -> Charge:
    """Find the charge on conductors in vacuum that have given potentials or stand in a uniform field.

    The density is constant on each triangle, and the potential is met at the centroids (collocation with Laplace's
    single layer, integrated exactly). The dense matrix is compressed to an H-matrix.

    Parameters
    ----------
    surface : Surface, or a path or words
        n triangles, c conductors; a file as for :func:`sordino.read_surface`, words as for
        :func:`sordino.surfaces.from_words`.
    potential : float, or array_like of shape (n,), (c,), (n, k) or (c, k), optional
        Volts, in all, on each triangle or on each conductor; k right-hand sides, 8 at once. Without it
        those that the surface brings; with `field`, 0. Real: complex ones, such as phasors, are two columns.
    field : three floats, optional
        A uniform field E in V/m, of which the potential -E.x is added to that of the charges: together they are
        `potential`.
    capacitance : bool
        Whether to solve for the capacitance matrix, too: c right-hand sides more.
    eps : float
        Accuracy of the compression, relative to the whole matrix. Looser than the triangles' own error is enough.
    eta, leaf, compression, recompress, most_rank, threads
        As for :func:`sordino.hmatrix`.
    coarse : float, optional
        Accuracy of a second H-matrix, of which ``inner`` steps of BiCGStab (20) are then the preconditioner of
        ``gmres``. It pays where products with the first one are dear and iterations many.
    coarse_rank : int, optional
        Terms of the second one's blocks, the most: 1 is what paper 000 takes for its largest spheres.
    on_failure, callback, **options
        As for :func:`sordino.solve`: ``solver`` (``"bicgstab"``), ``rtol`` (1e-5), ``ranks``, ``engine`` and others;
        ``precond="jacobi"``, the default, saves iterations where triangles differ in size.

    Returns
    -------
    Charge

    Raises
    ------
    BadArgument
        For a surface, potentials or options that cannot be used, and for a matrix that does not fit into memory, or
        into that of the GPUs that are to solve: before it is built.
    Unsupported
        For complex potentials and fields.
    NotConverged
        With ``on_failure="raise"``.

    Notes
    -----
    Returns when the density is there. Time and memory are those of the H-matrix, O(n log n); of several MPI processes
    each builds the part that its ranks multiply (`for_ranks` of :func:`sordino.hmatrix`), so that ``H @ x`` is
    collective afterwards, and ``H.T @ x`` refused, unless the options have a nullspace or a method for symmetric
    matrices.

    Examples
    --------
    >>> sphere = sordino.surfaces.sphere(13, 20, radius=1)               # doctest: +SKIP
    >>> sordino.bem(sphere, potential=1).charge / (4 * numpy.pi)         # doctest: +SKIP
    array([8.84...e-12])
    """
    check_on_failure(on_failure)
    surface = as_surface(surface)
    sides = right_hand_sides(surface, potential, field, capacitance)
    settings: dict[str, Any] = {
        "eta": eta, "leaf": leaf, "compression": compression, "recompress": recompress, "threads": threads,
        "most_rank": most_rank, "engine": "host" if options.get("engine") in ("host", "model") else "auto",
    }  # fmt: skip
    builds = [{**settings, "eps": eps}]
    if coarse is not None:
        builds.append({**settings, "eps": coarse, "most_rank": coarse_rank})
    elif coarse_rank is not None:
        raise BadArgument("coarse_rank is of a second matrix: say its accuracy, coarse, too")
    _check_preconditioner(coarse, options)
    part = part_for(options, surface.n)
    check_builds(surface.n, builds[0], coarse=builds[1] if coarse is not None else None, in_parts=bool(part))
    held = [{**one.settings, **one.statistics} for one in _given(options) if isinstance(one, HMatrix)]
    check_gpus_of(try_solver(surface.n, options, coarse=coarse is not None), surface.n, builds + held)
    H = hmatrix(surface, **builds[0], **part)
    if len(builds) > 1:
        options["M"] = hmatrix(surface, **builds[1], beside=H)
    solution = solve(H, sides, on_failure=on_failure, callback=callback, **options)
    return charge_of(surface, H, solution, capacitance)


def _given(options: Mapping[str, Any]) -> list[Any]:
    """What may be a preconditioner: M and precond."""
    return [options.get(name) for name in ("M", "precond")]


def _check_preconditioner(coarse: float | None, options: Mapping[str, Any]) -> None:
    """Refuse what is said of a second matrix twice, or without one."""
    given = _given(options)
    if coarse is not None and given[0] is not None:
        raise BadArgument("coarse makes a preconditioner, and M is one, too: choose one")
    if coarse is not None and not isinstance(given[1], (str, type(None))):
        raise BadArgument("coarse makes a preconditioner, and precond is one, too: choose one")
    second = coarse is not None or any(isinstance(one, HMatrix) for one in given)
    if options.get("inner") is not None and not second:
        raise BadArgument("inner is of a second matrix: say its accuracy, coarse, too")


def charge_of(surface: Surface, H: HMatrix, solution: Solution, capacitance: bool) -> Charge:
    """The result of a solve for :func:`right_hand_sides`."""
    density, conductors = solution.x, surface.conductor_count
    if not capacitance or density is None:  # another process has it
        return Charge(surface, density, None, solution, H)
    both = density.shape[1] > conductors
    asked = density[:, :-conductors] if both else density
    asked = asked[:, 0] if both and asked.shape[1] == 1 else asked
    return Charge(surface, asked, surface.totals(density[:, -conductors:]), solution, H)


def as_surface(source: Any, *, allow_open: bool = False) -> Surface:
    """A surface, that of a file, or the shape that words such as ``sphere:13,20`` ask for.

    Raises
    ------
    BadArgument, FileError
    """
    if isinstance(source, Surface):
        return source
    if not isinstance(source, (str, os.PathLike)):
        raise BadArgument(
            f"a surface is a sordino.surfaces.Surface, a file or a shape in words, not {shown(source)}"
        )
    text = os.fspath(source)
    return (
        from_words(text)
        if is_shape(text) and not os.path.exists(text)
        else read_surface(text, allow_open=allow_open)
    )


def right_hand_sides(surface: Surface, potential: Any, field: Any, capacitance: bool) -> np.ndarray:
    """The potential that the charges are to make at the centroids, shape (n,) or (n, k).

    With `capacitance` there are as many columns more as conductors: 1 on each, 0 on the others.

    Raises
    ------
    BadArgument
        Where nothing says a potential, for one of another shape, for what is not finite, for a field that is none, and
        for two triangles at one place that are to have different ones, in the columns of `capacitance`, too.
    Unsupported
        For complex numbers.
    """
    given = surface.potential if potential is None and field is None else potential
    sides = [] if given is None and field is None else [_potential(surface, 0.0 if given is None else given)]
    if field is not None:
        sides = [(sides[0].T + surface.centroids @ _field(field)).T]
    if capacitance:
        sides.append((surface.conductors[:, None] == np.arange(surface.conductor_count)).astype(np.float64))
    if not sides:
        raise BadArgument(
            f"{surface.name} has no potentials: give them (--potential, in Python potential=1.0, or one for each "
            "conductor or triangle), or a field"
        )
    asked = sides[0] if len(sides) == 1 else np.column_stack(sides)
    _check_twins(surface, asked)
    return asked


def _check_twins(surface: Surface, sides: np.ndarray) -> None:
    """Refuse different potentials at one place, which a solver would look for in vain."""
    one, other = surface.twins.T
    columns = sides.reshape(surface.n, -1)
    apart = np.abs(columns[one] - columns[other]) > 1e-9 * np.abs(columns).max(axis=0)
    wrong = np.flatnonzero(apart.any(axis=1))
    if wrong.size:
        pair, column = surface.twins[wrong[0]], int(apart[wrong[0]].argmax())
        a, b = sorted(int(triangle) for triangle in pair)
        parts, volts = surface.conductors, columns[:, column]
        more = f" ({count(wrong.size - 1, 'more such pair')})" if wrong.size > 1 else ""
        raise BadArgument(
            f"{surface.name}: triangles {a} and {b}, of conductors {parts[a]} and {parts[b]}, lie at the same place "
            f"and are to be at {volts[a]:g} and {volts[b]:g} V, which no charge does{more}"
        )


def _reals(given: Any, name: str, instead: str) -> np.ndarray:
    """As an array of float64; raises TypeError or ValueError for what are no numbers. `instead`: of complex ones."""
    numbers = np.asarray(given)
    if numbers.dtype.kind == "c":
        raise Unsupported(f"{name} is real, and this one is complex: {instead}")
    return numbers.astype(np.float64)


def _potential(surface: Surface, given: Any) -> np.ndarray:
    try:
        values = _reals(given, "a potential", "give its real and its imaginary part as two columns")
    except (TypeError, ValueError):
        raise BadArgument(f"a potential is a number or an array of numbers, not {shown(given)}") from None
    conductors = surface.conductor_count
    if values.ndim == 0:
        values = np.full(surface.n, float(values))
    if values.ndim in (1, 2) and len(values) == conductors != surface.n:
        values = values[surface.conductors]
    if values.ndim not in (1, 2) or len(values) != surface.n or values.size == 0:
        raise BadArgument(
            f"there are potentials of shape {values.shape}, and the surface has {count(surface.n, 'triangle')} and "
            f"{count(conductors, 'conductor')}: one for each is wanted"
        )
    if not np.isfinite(values).all():
        raise BadArgument("a potential is NaN or infinite")
    return values


def _field(given: Any) -> np.ndarray:
    try:
        field = _reals(given, "a field", "solve with its real part, and with its imaginary part")
    except (TypeError, ValueError):
        field = np.zeros(0)
    if field.shape != (3,) or not np.isfinite(field).all():
        raise BadArgument(f"a field is three numbers, in V/m, not {shown(given)}")
    return field
