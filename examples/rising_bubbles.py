"""Bubbles rise in a tank around obstacles, and each time step wants a pressure: one solver, set up once.

    python examples/rising_bubbles.py [cells] [steps]

Matrix and right-hand side change with the interface; the solver takes new values in place, and begins from what the
last two pressures promise. Beside it, the same systems from zero.
"""

from __future__ import annotations

import sys

import sordino
from sordino.problems import multiphase, pressure_steps


def main(cells: int = 24, steps: int = 8) -> int:
    """Solve step by step; say how many iterations the first guesses have saved."""
    problem = multiphase(cells, cells, 2 * cells, phases="bubbles", contrast=1000.0, obstacles=3)
    warm, cold = 0, 0
    with sordino.Solver(problem.A, solver="cg", precond="jacobi", rtol=1e-6) as solver:
        before = pressure = solver.solve(problem.b).x
        for values, b in pressure_steps(problem, steps, courant=0.1):
            solver.update_values(values)
            cold += solver.solve(b).iterations
            solution = solver.solve(b, x0=2 * pressure - before)
            warm += solution.iterations
            before, pressure = pressure, solution.x
    print(f"{steps} steps of {problem.b.size:,} cells: {warm} iterations, and {cold} from zero")
    return 0 if warm < cold else 3


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
