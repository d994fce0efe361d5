"""Complex numbers on their way to the core and back: it takes pairs of float64, real part first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: One solve of a real system: (b, x0, callback or None, options of this solve) to what the core says of it.
RealSolve = Callable[[np.ndarray, "np.ndarray | None", Any, dict[str, Any]], dict[str, Any]]

_TINY = 1e-300  # rtol where atol alone is meant
_SMALLEST, _LARGEST = 1e-100, 1e100  # of b, beyond which squares are lost


def double(dtype: Any) -> Any:
    """The dtype in which the core computes: complex128 of a complex one, else float64."""
    return np.complex128 if is_complex(dtype) else np.float64


def is_complex(dtype: Any) -> bool:
    """Whether a dtype is complex; of None and of what is no NumPy dtype, no."""
    return isinstance(dtype, np.dtype) and dtype.kind == "c"


def holds_complex(vector: Any) -> bool:
    """Whether an array, of NumPy or CuPy, is complex; None, and tensors of other libraries, are not."""
    return is_complex(getattr(vector, "dtype", None))


def words(values: np.ndarray) -> np.ndarray:
    """A contiguous array as the core takes it: complex numbers as pairs, without a copy."""
    return values.view(np.float64) if values.dtype.kind == "c" else values


def numbers(pairs: np.ndarray) -> np.ndarray:
    """The complex numbers in an array of the core's, without a copy."""
    return pairs.view(np.complex128)


@dataclass(frozen=True)
class RealSystem:
    """What solving by parts needs of a real A.

    Attributes
    ----------
    solve : function
        Of a right-hand side, a first guess or None, a callback or None, and options.
    multiply : function
        A x, of a real x.
    reach : function
        What of a vector, real or complex, is in the range of A: all of it, where no nullspace is given.
    """

    solve: RealSolve
    multiply: Callable[[np.ndarray], np.ndarray]
    reach: Callable[[np.ndarray], np.ndarray]

    def norm(self, v: np.ndarray) -> float:
        """Of what A can reach of v."""
        return float(np.linalg.norm(self.reach(v)))


def solve_by_parts(
    real: RealSystem,
    b: np.ndarray,
    x0: np.ndarray | None,
    callback: Callable[..., Any] | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    """A x = b for a real A and complex b or x0: its real part first, then its imaginary part.

    Each is solved to ``max(rtol ||b||, atol) / sqrt(2)``, so that x meets the tolerance as a whole. What is
    returned, and what a callback sees, is of the complex system: residuals relative to ``||b||``, x complex. Norms
    of b are those of what A can reach. Cost: that of two solves, and of one more product, where x0 has an imaginary
    part.
    """
    most = float(np.abs(words(b)).max(initial=0.0))
    if not (most == 0 or _SMALLEST < most < _LARGEST):
        return _scaled(real, b, x0, callback, options, -int(np.frexp(most)[1]))
    norm = real.norm(b)
    target = max(options["rtol"] * norm, options["atol"]) / np.sqrt(2.0)
    wanted = {**options, "rtol": _TINY, "atol": target}
    x = np.zeros(len(b), complex) if x0 is None else x0.astype(complex)
    later = b.imag - real.multiply(x.imag.copy()) if x.imag.any() else b.imag
    left = [real.norm(b.real), real.norm(later)]  # of each part, what is still to be solved
    done: list[dict[str, Any]] = []
    for part, turn in enumerate((1.0, 1j)):
        own = real.norm(b.imag if part else b.real)
        other, before = left[1 - part], sum(raw["iterations"] for raw in done)

        def of_whole(relative: float, own: float = own, other: float = other) -> float:
            return float(np.hypot(relative * own, other) / norm) if norm else 0.0

        def look(
            iteration: int,
            relative: float,
            *seen: np.ndarray,
            before: int = before,
            x: np.ndarray = x,
            turn: complex = turn,
            of_whole: Callable[[float], float] = of_whole,
        ) -> Any:
            assert callback is not None
            whole = tuple(turn * y + (1j * x.imag if turn == 1 else x.real) for y in seen)
            return callback(before + iteration, of_whole(relative), *whole)

        start = None if x0 is None else np.ascontiguousarray(x0.imag if part else x0.real)
        rhs = np.ascontiguousarray(b.imag if part else b.real)
        raw = real.solve(rhs, start, None if callback is None else look, wanted)
        raw["history"] = [of_whole(float(entry)) for entry in raw["history"]]
        raw["recoveries"] = [
            {**step, "iteration": before + step["iteration"], "residual": of_whole(step["residual"])}
            for step in raw.get("recoveries", ())
        ]
        left[part] = float(raw["residual_norm"])
        done.append(raw)
        if raw["x"] is not None:
            x = np.asarray(raw["x"]) + 1j * x.imag if part == 0 else x.real + 1j * np.asarray(raw["x"])
        if raw["status"] in ("interrupted", "stopped_by_user", "time_limit"):  # one verdict, of all processes
            break
    return _joined(done, x, float(np.hypot(left[0], left[1])), norm)


def _scaled(
    real: RealSystem,
    b: np.ndarray,
    x0: np.ndarray | None,
    callback: Callable[..., Any] | None,
    options: dict[str, Any],
    exponent: int,
) -> dict[str, Any]:
    """The same of b times a power of two, which is exact, so that norms neither overflow nor vanish."""

    def times(vector: np.ndarray, power: int) -> np.ndarray:
        return numbers(np.ldexp(words(np.ascontiguousarray(vector, dtype=np.complex128)), power))

    def look(iteration: int, relative: float, *seen: np.ndarray) -> Any:
        assert callback is not None
        return callback(iteration, relative, *(times(x, -exponent) for x in seen))

    raw = solve_by_parts(
        real,
        times(b, exponent),
        None if x0 is None else times(x0, exponent),
        None if callback is None else look,
        {**options, "atol": float(np.ldexp(options["atol"], exponent))},
    )
    x = None if raw["x"] is None else times(raw["x"], -exponent)
    norms = {name: float(np.ldexp(raw[name], -exponent)) for name in ("residual_norm", "outside_norm")}
    return {**raw, "x": x, **norms}


def _joined(done: list[dict[str, Any]], x: np.ndarray, residual: float, norm: float) -> dict[str, Any]:
    outside = [raw.get("outside_norm", 0.0) for raw in done]
    last = max(
        range(len(done)), key=lambda k: (outside[k], k)
    )  # whose sentence says what b has outside the range
    part = next((k for k, raw in enumerate(done) if raw["status"] != "converged"), last)
    worst = done[part]
    return {
        **worst,
        "reason": f"{('real', 'imaginary')[part]} part: {worst['reason']}",
        "x": None if any(raw["x"] is None for raw in done) else x,
        "iterations": sum(raw["iterations"] for raw in done),
        "seconds": sum(raw["seconds"] for raw in done),
        "history": np.concatenate([np.asarray(raw["history"], float) for raw in done]),
        "recoveries": [step for raw in done for step in raw["recoveries"]],
        "outside_norm": float(np.linalg.norm(outside)),
        "residual_norm": residual,
        "true_residual": residual / norm if norm else 0.0,
        "ledger": _added([raw["ledger"] for raw in done]),
        "trace": [span for raw in done for span in raw.get("trace", [])],
    }


def _added(ledgers: list[Any]) -> Any:
    """Numbers summed, in dictionaries and lists of the same shape; everything else as it is in the first."""
    first = ledgers[0]
    if isinstance(first, dict):
        return {key: _added([ledger[key] for ledger in ledgers if key in ledger]) for key in first}
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        return sum(ledgers)
    return first
