"""Where the time of a multigrid cycle goes, level by level, out of a solve's trace.

A trace has no levels, but a cycle has its order: it begins with the smoother of level 0, each restriction leads a
level down and each correction one up, and it ends with the last step of level 0's second smoother
(``precond/multigrid.cpp``).

Coarse levels may live on fewer ranks, the last ones on rank 0. Who owns none of a level's rows only waits, for the
correction that comes back: such levels are told as rank 0 has them, and that wait is less by what they take there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

#: What else `place` may be: the commands of the method itself.
AROUND = -1

#: Work on a level, beside rank 0's, below which a rank owns none of its rows.
_NO_WORK = 0.2

#: By smoother: what level 0's first commands are called, and its last ones.
_BEGINS = (["First", "SpMV"], ["Red", "Relax"], ["Block ILU", "SpMV"])
_ENDS = (["LastStep"], ["Relax", "Relax"], ["Block ILU", "Add"])

_WAITS = {"halo wait": "halo_wait_s", "reduction wait": "reduction_wait_s"}
_UNDER_WAY = {"halo": "halo_s", "reduction": "reduction_s"}


@dataclass(frozen=True)
class Level:
    """Seconds of a level in an iteration.

    Attributes
    ----------
    place : int
        0 the finest level, the last one the bottom solve's, :data:`AROUND` what is not of the cycle.
    commands, work_s, launch_s : float
        Commands, their seconds without what they wait, and their launches: what lies between commands, where the
        engine has none.
    halo_wait_s, reduction_wait_s : float
        Waited for: exposed.
    halo_s, reduction_s : float
        Under way, from sending to coming, waited for or not; behind what runs meanwhile is the rest.
    sums : float
        Sums over all ranks.
    """

    place: int
    commands: float = 0.0
    work_s: float = 0.0
    launch_s: float = 0.0
    halo_wait_s: float = 0.0
    halo_s: float = 0.0
    reduction_wait_s: float = 0.0
    reduction_s: float = 0.0
    sums: float = 0.0

    @property
    def seconds(self) -> float:
        """All that the rank's queue spends on the level."""
        return self.work_s + self.launch_s + self.halo_wait_s + self.reduction_wait_s

    @property
    def hidden_halo_s(self) -> float:
        """Of halos under way what nobody waited for."""
        return max(0.0, self.halo_s - self.halo_wait_s)

    @property
    def hidden_reduction_s(self) -> float:
        """The same of sums."""
        return max(0.0, self.reduction_s - self.reduction_wait_s)

    def facts(self) -> dict[str, float]:
        """For records."""
        return asdict(self)


@dataclass
class _Command:
    name: str
    seconds: float  # from where it, or its first wait, begins
    gap: float  # between the command before it and that
    inside: dict[str, float]  # seconds by kind
    sums: int
    place: int = AROUND


def by_level(trace: Sequence[dict[str, Any]], rank: int, at_once: int = 1) -> list[Level]:
    """The levels of an average iteration of one rank, the finest first, and at last what is around the cycles.

    Where it owns no rows of coarse levels, these are rank 0's.

    Parameters
    ----------
    trace : sequence of dict
        A report's.
    rank : int
    at_once : int
        Iterations that the method takes at once; so many cycles are between two of its sums.

    Returns
    -------
    list of Level
        None where the trace has not two whole iterations, each with a cycle.
    """
    levels = _of_rank(trace, rank, at_once)
    owners = _of_rank(trace, 0, at_once) if rank != 0 and levels else levels
    return _with_owner(levels, owners) if len(owners) == len(levels) else levels


def work_of_commands(trace: Sequence[dict[str, Any]], rank: int) -> dict[tuple[int, str], list[float]]:
    """Seconds that each call of a cycle's command works, without its waits and its launch, by place and name."""
    commands = list(_commands(trace, rank))
    _place(commands)
    found: dict[tuple[int, str], list[float]] = {}
    for command in commands:
        if command.place != AROUND:
            found.setdefault((command.place, command.name), []).append(_work(command))
    return found


def _with_owner(levels: list[Level], owner: list[Level]) -> list[Level]:
    """From the first level on of which the rank owns no rows, the owner's; in all they take what they did."""
    works = [mine.work_s >= _NO_WORK * other.work_s for mine, other in zip(levels[:-1], owner, strict=False)]
    shared = works.index(False) if False in works else len(works)
    if shared in (0, len(levels) - 1):
        return levels
    below = owner[shared:-1]
    longer = sum(level.seconds for level in below) - sum(level.seconds for level in levels[shared:-1])
    above = levels[shared - 1]
    waited = replace(
        above, halo_wait_s=max(0.0, above.halo_wait_s - longer), halo_s=max(0.0, above.halo_s - longer)
    )
    return [*levels[: shared - 1], waited, *below, levels[-1]]


def _of_rank(trace: Sequence[dict[str, Any]], rank: int, at_once: int) -> list[Level]:
    commands = list(_commands(trace, rank))
    begins = _place(commands)[1:]  # the first cycle is of the setting up
    counted = (len(begins) - 1) // at_once * at_once
    if counted < 1:
        return []
    of = commands[begins[-1 - counted] : begins[-1]]
    deepest = max(command.place for command in of)
    sums = {place: Level(place) for place in (*range(deepest + 1), AROUND)}
    for command in of:
        sums[command.place] = _with(sums[command.place], command)
    numbers = [level.facts() for level in sums.values()]
    return [
        Level(int(facts.pop("place")), **{key: value / counted for key, value in facts.items()})
        for facts in numbers
    ]


def _with(level: Level, command: _Command) -> Level:
    inside = command.inside
    launch, known = inside.get("launch", 0.0), "launch" in inside
    more = {name: inside.get(kind, 0.0) for kind, name in {**_WAITS, **_UNDER_WAY}.items()}
    added = {name: getattr(level, name) + seconds for name, seconds in more.items()}
    return replace(
        level,
        commands=level.commands + 1,
        work_s=level.work_s + _work(command),
        launch_s=level.launch_s + (launch if known else command.gap),
        sums=level.sums + command.sums,
        **added,
    )


def _work(command: _Command) -> float:
    inside = command.inside
    waits = sum(inside.get(kind, 0.0) for kind in _WAITS)
    return max(0.0, command.seconds - waits - inside.get("launch", 0.0))


def _commands(trace: Sequence[dict[str, Any]], rank: int) -> Iterator[_Command]:
    """Commands in their order; a command's launch, waits and what it waited for come before itself in a trace."""
    inside: dict[str, float] = {}
    before, begin, sums = -math.inf, math.inf, 0
    for span in trace:
        if int(span["rank"]) != rank:
            continue
        kind, start, end = str(span["kind"]), float(span["start_s"]), float(span["end_s"])
        if kind not in _UNDER_WAY:
            begin = min(begin, start)
        if kind == "compute":
            begin = max(begin, before)
            gap = begin - before if math.isfinite(before) else 0.0
            yield _Command(str(span["name"]), end - begin, gap, inside, sums)
            inside, before, begin, sums = {}, end, math.inf, 0
        else:
            inside[kind] = inside.get(kind, 0.0) + end - start
            sums += kind == "reduction"


def _place(commands: list[_Command]) -> list[int]:
    """Gives commands their places, and returns where cycles begin."""
    names = [command.name for command in commands]
    begins = []
    depth, rises = AROUND, False
    for k, command in enumerate(commands):
        if depth == AROUND and names[k : k + 2] in _BEGINS:
            begins.append(k)
            depth, rises = 0, False
        rises_here = _rises(names, k) and depth > 0
        if rises_here:  # it writes to the level above
            depth, rises = depth - 1, True
        command.place = depth
        if depth == AROUND:
            continue
        if _descends(names, k):
            depth, rises = depth + 1, False
        elif depth == 0 and rises and any(names[k + 1 - len(end) : k + 1] == end for end in _ENDS):
            depth = AROUND
    return begins


def _descends(names: list[str], k: int) -> bool:
    return names[k] == "Restrict" or (names[k] == "Transfer" and names[k - 1] == "LeavingStep")


def _rises(names: list[str], k: int) -> bool:
    return names[k] == "Prolong" or (names[k] == "Transfer" and names[k - 1] != "LeavingStep")


def cells_of(grid: Sequence[int], levels: int) -> list[tuple[int, int, int]]:
    """Cells of each level of precond mg, which pairs cubes in all directions that have two (``grid_levels.hpp``)."""
    x, y, z = (int(count) for count in grid)
    return [(-(-x // 2**k), -(-y // 2**k), -(-z // 2**k)) for k in range(levels)]


def small_share(levels: Sequence[Level], grid: Sequence[int], edge: int = 32) -> float:
    """The part of an iteration's time that levels of fewer than edge^3 cells take."""
    small = [math.prod(cells) < edge**3 for cells in cells_of(grid, len(levels) - 1)]
    taken = sum(level.seconds for level, few in zip(levels, small, strict=False) if few)
    return taken / sum(level.seconds for level in levels)
