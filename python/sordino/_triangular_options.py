"""The options of triangular solves, as the core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import machines
from .errors import BadArgument
from .io.plan_files import PlanFile

ENGINES = ("host", "processes", "cuda", "model")
MOST_RANKS = 32


def checked_options(
    *,
    ranks: int | str = "auto",
    threads: int | None = None,
    width: int = 256,
    engine: str = "host",
    devices: str = "",
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
    wanted = 1 if ranks == "auto" else whole(ranks, "ranks", 1)
    if wanted > MOST_RANKS:
        raise BadArgument(f"a triangular solve has 1 to {MOST_RANKS} ranks, and {wanted} were asked for")
    return {
        "engine": engine,
        "devices": _devices(devices, engine),
        "ranks": wanted,
        "threads": 0 if threads is None else whole(threads, "threads", 1),
        "width": whole(width, "width", 1),
        "timeout": _seconds(timeout),
        "machine": _machine(machine, engine),
        "seed": whole(seed, "seed", 0),
        "plans": None if plans is None else PlanFile(plans),
    }


def _machine(machine: Any, engine: str) -> dict[str, Any] | None:
    """What the core takes of a described machine; the default one where nobody names one."""
    if engine == "model":
        return machines.numbers(machines.load(machines.DEFAULT if machine is None else machine))
    if machine is not None:
        raise BadArgument(f"a machine is described for engine model, and this is engine {engine}")
    return None


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
