"""The options of triangular solves, as the core takes them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import machines
from .errors import BadArgument, Unsupported
from .io.plan_files import PlanFile

ENGINES = ("host", "processes", "cuda", "model")
#: Most columns of a block, by the algorithm, unless a caller says it.
WIDTHS = {"ours": 256, "paper": 128}
ALGORITHMS = tuple(WIDTHS)
MOST_RANKS = 32
#: Descriptions by what names of GPUs have in them.
_KNOWN_GPUS = {"H100": "h100x2", "H200": "h200x4", "A100": "cluster"}


def checked_options(
    *,
    ranks: int | str = "auto",
    threads: int | None = None,
    width: int | str | None = None,
    algorithm: str = "ours",
    layout: str | tuple[int, int] = "",
    engine: str = "host",
    devices: str = "",
    blocks: int = 0,
    timeout: float = 60.0,
    machine: Any = None,
    seed: int = 0,
    plans: Any = None,
) -> dict[str, Any]:
    """The options of :func:`factorized` as the core takes them; refuses what cannot be meant."""
    if engine not in ENGINES:
        raise BadArgument(
            f"engine is {', '.join(ENGINES[:-1])} or {ENGINES[-1]} for triangular solves, not '{engine}'"
        )
    if algorithm not in ALGORITHMS:
        raise BadArgument(f"algorithm is {' or '.join(ALGORITHMS)} for triangular solves, not '{algorithm}'")
    if algorithm == "paper" and engine == "processes":
        raise Unsupported("engine processes has no algorithm 'paper': take engine host, cuda or model")
    grid = _layout(layout, algorithm)
    chosen = ranks == "auto" and engine in ("cuda", "model") and algorithm == "ours"
    wanted = 0 if chosen else max(grid[0] * grid[1], 1) if ranks == "auto" else whole(ranks, "ranks", 1)
    if grid[0] and wanted != grid[0] * grid[1]:
        raise BadArgument(
            f"layout {grid[0]}x{grid[1]} has {grid[0] * grid[1]} ranks, and ranks is {wanted}: leave one out"
        )
    if wanted > MOST_RANKS:
        raise BadArgument(f"a triangular solve has 1 to {MOST_RANKS} ranks, and {wanted} were asked for")
    return {
        "engine": engine,
        "devices": _devices(devices, engine),
        "blocks": whole(blocks, "blocks", 0),
        "ranks": wanted,
        "threads": 0 if threads is None else whole(threads, "threads", 1),
        "width": checked_width(width, algorithm),
        "algorithm": algorithm,
        "layout": grid,
        "timeout": _seconds(timeout),
        "machine": _machine(machine, engine, chosen or (width == "auto" and algorithm == "ours")),
        "seed": whole(seed, "seed", 0),
        "plans": None if plans is None else PlanFile(plans),
    }


def known_options(given: dict[str, Any]) -> dict[str, Any]:
    """The same of ``**options``, whose names nobody has checked."""
    try:
        return checked_options(**given)
    except TypeError:
        known = ", ".join(inspect.signature(checked_options).parameters)
        raise BadArgument(f"options of a triangular solve are {known}, not {', '.join(given)}") from None


def checked_width(width: int | str | None, algorithm: str = "ours") -> int:
    """Most columns of a block as the core takes it: 0 is "auto", which of algorithm paper is the paper's."""
    if width is None or (width == "auto" and algorithm == "paper"):
        return WIDTHS[algorithm]
    if isinstance(width, str) and width != "auto":
        raise BadArgument(f"width is a whole number, at least 1, or 'auto', not {width!r}")
    return 0 if width == "auto" else whole(width, "width", 1)


def _machine(machine: Any, engine: str, chosen: bool) -> dict[str, Any] | None:
    """What the core takes of a described machine: one is of engine model, or engine cuda chooses something by it."""
    if engine == "model" or (engine == "cuda" and chosen):
        default = machines.DEFAULT if engine == "model" else _like_this_one()
        return machines.numbers_of_triangular(machines.load(default if machine is None else machine))
    if machine is not None:
        raise BadArgument(
            "a machine is described for engine model, or for ranks='auto' or width='auto' of engine cuda; this is "
            f"engine {engine}{' with numbers for both' if engine == 'cuda' else ''}"
        )
    return None


def _like_this_one() -> str:
    """The description whose GPUs are those of this machine, or most like them."""
    name = " ".join(machines.this_machine()["devices"][:1])
    return next((known for gpu, known in _KNOWN_GPUS.items() if gpu in name), machines.DEFAULT)


def _layout(layout: Any, algorithm: str) -> tuple[int, int]:
    """P and Q of a layout, or zeros where none is given."""
    if isinstance(layout, str) and layout == "":
        return 0, 0
    words = layout.lower().split("x") if isinstance(layout, str) else layout
    try:
        rows, columns = (int(word) for word in words)
    except (TypeError, ValueError):
        rows, columns = 0, 0
    if rows < 1 or columns < 1:
        raise BadArgument(f"layout is PxQ, two whole numbers such as 2x3, not {layout!r}")
    if algorithm != "paper":
        raise BadArgument("a layout is of algorithm 'paper', and this is algorithm 'ours'")
    return rows, columns


def _devices(devices: str, engine: str) -> str:
    if not isinstance(devices, str):
        raise BadArgument(f"devices is a text such as '0-3' or '0,2', not {type(devices).__name__}")
    if devices and engine != "cuda":
        raise BadArgument(f"devices are those of engine cuda, and this is engine {engine}")
    return devices


def whole(value: Any, name: str, least: int) -> int:
    """The value as an int, or a sentence that names it."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value < 2**31:
        raise BadArgument(f"{name} is a whole number, at least {least}, not {value!r}")
    return int(value)


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise BadArgument(f"timeout is a number of seconds, not {value!r}") from None
    if not seconds >= 0:
        raise BadArgument(f"timeout is at least 0 seconds, not {seconds:g}")
    return seconds
