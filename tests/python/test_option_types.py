"""What editors and type checkers are told of options is what the core knows."""

from __future__ import annotations

from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np

import sordino
from sordino import _options
from sordino._option_types import OnceOptions, PerSolve, SolverOptions

ARGUMENTS = {"M", "nullspace"}  # of the solver itself
OPEN = {"solver", "precond"}  # whose choices grow with every method


def test_every_option_has_a_type_and_every_type_an_option():
    names = set(get_type_hints(SolverOptions))
    assert names == (set(_options.specs()) | set(_options.ALIASES)) - ARGUMENTS
    known = {_options.ALIASES.get(name, name) for name in get_type_hints(PerSolve)}
    assert known == set(_options.PER_SOLVE)
    assert set(get_type_hints(OnceOptions)) > ARGUMENTS


def test_choices_are_the_cores():
    hints = get_type_hints(SolverOptions)
    for name, spec in _options.specs().items():
        if not spec.choices or name in ARGUMENTS or name in OPEN:
            continue
        hint = hints[name]
        literal = hint if get_origin(hint) is Literal else get_args(hint)[0]
        assert get_args(literal) == spec.choices, name


def test_numbers_of_numpy_are_taken():
    A = sordino.poisson(4, 4, 4)
    found = sordino.solve(A, np.ones(64), rtol=np.float32(1e-3), ranks=np.int64(2), engine="host")
    assert found.converged
