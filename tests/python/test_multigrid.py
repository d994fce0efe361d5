"""Precond mg from Python and the command line: pressure equations, obstacles, new values, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import sordino
from sordino.problems import multiphase, pressure_matrix

GRID = (16, 20, 24)
OPTIONS = {"solver": "cg", "rtol": 1e-8, "engine": "host", "ranks": 2}


@pytest.mark.parametrize("cycle", ["v", "f", "w"])
@pytest.mark.parametrize("contrast", [1.0, 1e3, 1e6])
def test_few_iterations_whatever_the_contrast_of_a_ball(cycle, contrast) -> None:
    A = sordino.poisson(*GRID, contrast=contrast)
    b = np.random.default_rng(6).standard_normal(A.shape[0])
    solver = "fcg" if cycle == "f" else "cg"
    found = sordino.solve(A, b, precond="mg", cycle=cycle, grid=GRID, **OPTIONS | {"solver": solver})
    assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert found.iterations <= 20
    assert found.report.options["precond"] == "mg"


@pytest.mark.parametrize("obstacles", [0, 3])
@pytest.mark.parametrize("boundary", ["neumann", "dirichlet"])
def test_pressure_of_two_phases_with_obstacles_and_without_a_face_that_holds_it(obstacles, boundary) -> None:
    p = multiphase(*GRID, contrast=100.0, obstacles=obstacles, boundary=boundary, seed=3)
    options = {**OPTIONS, "grid": GRID, "nullspace": p.nullspace}
    found = sordino.solve(p.A, p.b, precond="mg", **options)
    assert found.converged
    assert found.iterations < sordino.solve(p.A, p.b, precond="jacobi", **options).iterations / 2


def test_time_steps_make_the_levels_anew() -> None:
    first, second = (sordino.poisson(*GRID, contrast=c) for c in (10.0, 1000.0))
    b = np.ones(first.shape[0])
    with sordino.Solver(first, precond="mg", grid=GRID, **OPTIONS) as solver:
        few = solver.solve(b).iterations
        solver.update_values(second.data)  # whose phases want more smoothing, which stays
        held = solver.memory()["bytes_per_rank"]
        found = solver.solve(b)
        assert np.linalg.norm(b - second @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
        solver.update_values(first.data)
        assert solver.solve(b).iterations <= few
        assert solver.memory()["bytes_per_rank"] == held


def test_the_command_line_knows_its_own_grid(cli) -> None:
    words = ("poisson", 16, 16, 16, "--precond", "mg", "--solver", "cg", "--engine", "host", "--json")
    code, out, err = cli(*words, "--cycle", "w", "--rtol", "1e-8")
    assert code == 0, err
    said = json.loads(out)
    assert said["status"] == "converged" and said["iterations"] <= 10


@pytest.mark.parametrize("precond", ["mg", "amg"])
def test_auto_takes_fcg_for_an_f_cycle_which_is_not_symmetric(cli, precond) -> None:
    words = ("poisson", 16, 16, 16, "--precond", precond, "--engine", "host", "--json", "--rtol", "1e-8")
    code, out, err = cli(*words, "--cycle", "f")
    assert code == 0, err
    said = json.loads(out)
    assert said["status"] == "converged" and said["options"]["solver"] == "fcg"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("poisson", 8, 8, 8, "--precond", "mg", "--cycle", "k"), "unknown cycle 'k'; known: v, f, w"),
        (
            ("poisson", 8, 8, 8, "--precond", "mg", "--cycle", "f", "--solver", "cg"),
            "cycle f is not symmetric, which solver cg needs: use solver fcg, richardson, bicgstab or gmres",
        ),
        (
            ("poisson", 8, 8, 8, "--precond", "mg", "--solver", "pipebicgstab"),
            "takes no preconditioner but a diagonal",
        ),
        (("poisson", 8, 8, 8, "--precond", "mg", "--partition", "boxes"), "precond mg is of layers of cells"),
        (
            ("predict", "poisson", 16, 16, 16, "--precond", "mg", "--solver", "pipebicgstab"),
            "takes no preconditioner but a diagonal",
        ),
    ],
)
def test_bad_usage(cli, words, sentence) -> None:
    code, out, err = cli(*words, *(() if words[0] == "predict" else ("--engine", "host", "--ranks", 2)))
    assert code == 2 and out == "" and sentence in err


def test_a_matrix_of_no_grid_is_refused() -> None:
    A = sordino.poisson(*GRID)
    with pytest.raises(sordino.BadArgument, match="precond mg coarsens a grid"):
        sordino.Solver(A, precond="mg", **OPTIONS)
    with pytest.raises(sordino.BadArgument, match="give the matrix's own grid"):
        sordino.Solver(A, precond="mg", grid=(20, 16, 24), **OPTIONS)


def test_rows_that_processes_bring_are_refused() -> None:
    with pytest.raises(sordino.Unsupported, match=r"precond mg is not supported here: .*: use amg"):
        sordino.RowsSolver(None, [0, 1], [0], [4.0], solver="cg", precond="mg", grid=(1,), engine="host")


@pytest.mark.parametrize("cells", [(16, 16, 16), (11, 16, 13)])
@pytest.mark.parametrize("periodic", ["xyz", "xy", "z"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_periodic_boxes_beside_a_direct_solve(cells, periodic, ranks) -> None:
    rng = np.random.default_rng(8)
    solid = rng.uniform(size=cells[::-1]) < 0.02
    density = np.exp(rng.uniform(0, 2, cells[::-1]))
    A = pressure_matrix(density, solid=solid, boundary="neumann", periodic=periodic)
    fluid = (~solid).astype(float).ravel()
    b = A @ rng.standard_normal(A.shape[0])
    options = {**OPTIONS, "ranks": ranks, "rtol": 1e-10, "grid": cells}
    found = sordino.solve(A, b, precond="mg", nullspace=fluid, **options)
    assert found.iterations <= 25
    first = np.arange(A.shape[0]) == fluid.argmax()
    direct = spsolve(sp.csc_array(A + sp.diags_array(first.astype(float))), b)  # held there
    apart = (found.x - direct) * fluid
    apart -= fluid * apart.sum() / fluid.sum()
    assert np.linalg.norm(apart) <= 1e-7 * np.linalg.norm(found.x)


def test_a_rank_without_layers_of_stretched_cells_takes_part():
    A = pressure_matrix(np.ones((2, 8, 16)), spacing=(1, 1, 4))
    options = {"solver": "cg", "precond": "mg", "grid": "16,8,2", "engine": "host", "rtol": 1e-9}
    found = sordino.solve(A, np.ones(A.shape[0]), ranks=3, **options)
    assert (
        found.converged
        and found.iterations <= sordino.solve(A, np.ones(A.shape[0]), ranks=1, **options).iterations + 4
    )


def test_couplings_whose_sum_is_not_finite_end():
    along, across = (sp.diags([1.0, 1.0], [-1, 1], shape=(m, m)) for m in (200, 12))
    couplings = 1.5e308 * sp.kron(sp.identity(12), along) + sp.kron(across, sp.identity(200))
    A = sp.csr_matrix(sp.diags(np.full(2400, 1.7e308)) - couplings)
    options = {"solver": "cg", "precond": "mg", "grid": "200,12,1", "engine": "host", "ranks": 1}
    assert not sordino.solve(A, np.ones(2400), on_failure="return", **options).converged


# ---- what precond=auto takes -------------------------------------------------------------------------------------


def test_auto_says_what_it_took_and_why() -> None:
    large, small = sordino.poisson(48, 48, 48, contrast=10.0), sordino.poisson(24, 24, 24)
    options = {"engine": "host", "ranks": 2, "rtol": 1e-8}
    found = sordino.solve(large, np.ones(large.shape[0]), grid=(48, 48, 48), **options)
    assert found.converged and found.iterations <= 14
    assert (found.report.options["solver"], found.report.options["precond"]) == ("cg", "mg")
    assert found.report.precond_reason.startswith("jacobi is foretold to take ")
    few = sordino.solve(small, np.ones(small.shape[0]), grid=(24, 24, 24), **options).report
    assert few.options["precond"] == "jacobi" and few.precond_reason.startswith("jacobi is foretold to take ")
    unknown = sordino.solve(large, np.ones(large.shape[0]), maxiter=1, on_failure="return", **options).report
    assert (unknown.options["precond"], unknown.precond_reason) == (
        "jacobi",
        "no grid is given, of which mg would be",
    )
    asked = sordino.solve(small, np.ones(small.shape[0]), precond="jacobi", **options).report
    assert asked.precond_reason == "asked for"


def test_the_command_line_knows_its_grid_and_says_why(cli, tmp_path) -> None:
    page = tmp_path / "report.html"
    for cells, taken in (((48, 48, 48), "mg"), ((12, 12, 12), "jacobi")):
        code, out, err = cli(
            "poisson", *cells, "--rtol", 1e-8, "--engine", "host", "--ranks", 2, "--report", page, "--force"
        )
        assert code == 0, err
        said = f"The preconditioner is {taken}: jacobi is foretold to take "
        assert said in " ".join(out.split()) and said in page.read_text()


@pytest.mark.parametrize("precision", ["single", "half"])
@pytest.mark.parametrize("solver", ["cg", "fcg"])
def test_cycles_in_lower_precision_take_the_iterations_of_those_in_double(solver, precision) -> None:
    A = sordino.poisson(*GRID, contrast=1e3)
    b = np.random.default_rng(8).standard_normal(A.shape[0])
    for rtol in (1e-8, 1e-12):
        options = {**OPTIONS, "solver": solver, "precond": "mg", "grid": GRID, "rtol": rtol}
        found = sordino.solve(A, b, cycle_precision=precision, **options)
        assert np.linalg.norm(b - A @ found.x) <= rtol * np.linalg.norm(b) * (1 + 1e-3)
        assert abs(found.iterations - sordino.solve(A, b, **options).iterations) <= 1
        assert found.report.options["cycle_precision"] == precision


def test_lower_precision_holds_less_and_is_refused_where_it_has_no_kernels() -> None:
    A = sordino.poisson(*GRID)
    b = np.ones(A.shape[0])
    options = {**OPTIONS, "precond": "mg", "grid": GRID}
    held = []
    for precision in ("double", "single", "half"):
        with sordino.Solver(A, cycle_precision=precision, **options) as solver:
            assert solver.solve(b).converged
            held.append(max(solver.memory()["bytes_per_rank"]))
    assert held[0] > held[1] > held[2]
    with pytest.raises(sordino.Unsupported, match="'single' is for precond mg, whose levels are grids"):
        sordino.Solver(A, cycle_precision="single", **OPTIONS | {"precond": "amg"})
    for name in ("gropp", "prcg"):
        with pytest.raises(sordino.Unsupported, match=f"solver {name} follows M"):
            sordino.Solver(A, cycle_precision="single", **options | {"solver": name})
    with pytest.raises(sordino.BadArgument, match="cycle_precision"):
        sordino.Solver(A, cycle_precision="quarter", **options)
    wide = A.copy()
    wide.data = A.data.copy()
    wide[0, 0] = 1e30
    with pytest.raises(
        sordino.BadArgument, match=r"at most, and those of this matrix go from 6 to 1e.30: use double"
    ):
        sordino.Solver(wide, cycle_precision="single", **options)


def test_the_command_line_takes_cycles_in_lower_precision(cli) -> None:
    words = ("poisson", 16, 16, 16, "--precond", "mg", "--solver", "cg", "--engine", "host", "--json")
    code, out, err = cli(*words, "--cycle-precision", "half", "--rtol", "1e-8")
    assert code == 0, err
    assert json.loads(out)["status"] == "converged"
    code, out, err = cli(*words, "--cycle-precision", "whole")
    assert code == 2 and "Traceback" not in err


@pytest.mark.parametrize("smoother", ["sor", "block-ilu"])
def test_other_smoothers_take_about_the_iterations_of_the_polynomial(smoother, cli) -> None:
    for contrast in (1.0, 1e3):
        A = sordino.poisson(*GRID, contrast=contrast)
        b = np.random.default_rng(12).standard_normal(A.shape[0])
        options = {**OPTIONS, "solver": "cg", "precond": "mg", "grid": GRID, "rtol": 1e-8}
        found = sordino.solve(A, b, smoother=smoother, **options)
        assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
        assert abs(found.iterations - sordino.solve(A, b, **options).iterations) <= 4
        assert found.report.options["smoother"] == smoother
    with pytest.raises(sordino.Unsupported, match=f"smoother '{smoother}' is for precond mg"):
        sordino.Solver(A, smoother=smoother, **OPTIONS | {"precond": "amg"})
    with pytest.raises(sordino.Unsupported, match=f"smoother '{smoother}' computes in double"):
        sordino.Solver(A, smoother=smoother, cycle_precision="half", **options)
    with pytest.raises(sordino.BadArgument, match="smoother"):
        sordino.Solver(A, smoother="jacobi", **options)
    words = ("poisson", 16, 16, 16, "--precond", "mg", "--solver", "cg", "--engine", "host", "--json")
    code, out, err = cli(*words, "--smoother", smoother, "--rtol", "1e-8")
    assert code == 0, err
    assert json.loads(out)["status"] == "converged"
    code, out, err = cli(*words, "--smoother", smoother, "--stencil", "27", "--rtol", "1e-8")
    assert code == 0, err
    assert json.loads(out)["iterations"] <= 12
    odd = ("poisson", 15, 16, 16, "--stencil", "27", "--bc", "x:periodic", "--engine", "host")
    code, out, err = cli(*odd, "--precond", "mg", "--solver", "cg", "--smoother", "sor")
    assert code == 2 and "of eight, as with 27" in err and "Traceback" not in err
