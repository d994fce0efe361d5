"""Precond amg from Python and the command line: levels made in NumPy, two phases, new values, what is refused."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino.problems import multiphase

OPTIONS = {"solver": "cg", "rtol": 1e-8, "engine": "host"}


def scattered(n: int, contrast: float, seed: int = 0) -> sp.csr_array:
    """Five points of n x n cells, rows in any order; some conduct `contrast` times as well as others."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(n * n).reshape(n, n)
    cells = rng.uniform(1, 10, (n, n))
    cells[np.add.outer(np.sin(0.7 * np.arange(n)), np.sin(0.9 * np.arange(n))) > 0] *= contrast
    matrix = sp.dok_array((n * n, n * n))
    for one, other in (
        (np.s_[1:, :], np.s_[:-1, :]),
        (np.s_[:, 1:], np.s_[:, :-1]),
    ):
        weights = 2 / (1 / cells[one] + 1 / cells[other])
        matrix = matrix + sp.coo_array(
            (weights.ravel(), (number[one].ravel(), number[other].ravel())), shape=matrix.shape
        )
    coupled = sp.csr_array(matrix + matrix.T)
    held = np.zeros(n * n)
    held[number[0]] = 2 * cells[0]
    return sp.csr_array(sp.diags_array(coupled.sum(axis=1) + held) - coupled)


def couplings(A: sp.csr_array, i: int) -> dict[int, float]:
    """-a_ij of a row, where it is positive."""
    part = slice(A.indptr[i], A.indptr[i + 1])
    return {int(j): -v for j, v in zip(A.indices[part], A.data[part], strict=True) if j != i and v < 0}


def pairs(A: sp.csr_array, own: np.ndarray, lonely: bool) -> tuple[sp.csr_array, np.ndarray]:
    """P of pairs, and the largest coupling that a row of each has, itself or by what `own`, shape (n,), says.

    Rows that are held are paired with their like; a lonely one is in no pair if `lonely` says so, else one of its own.
    """
    n = A.shape[0]
    rows = [couplings(A, i) for i in range(n)]
    held = abs(A).sum(axis=1) - A.diagonal() < 0.1 * A.diagonal()
    largest = [max([own[i], *rows[i].values()]) for i in range(n)]
    of: list[int | None] = [None] * n

    def strong(i: int) -> dict[int, float]:
        return {j: v for j, v in rows[i].items() if v >= 0.25 * largest[i] and held[j] == held[i]}

    for i in range(n):
        if of[i] is None:
            mutual = {j: v for j, v in strong(i).items() if of[j] is None and v >= 0.25 * largest[j]}
            if mutual:
                of[i] = of[max(mutual, key=mutual.__getitem__)] = i
    for i in range(n):
        if of[i] is None:
            nearest = strong(i)
            j = max(nearest, key=nearest.__getitem__, default=i)
            if j != i or not (held[i] and lonely):
                of[j] = j if of[j] is None else of[j]
                of[i] = of[j]
    numbers: dict[int, int] = {}
    within = [i for i in range(n) if of[i] is not None]
    columns = [numbers.setdefault(of[i], len(numbers)) for i in within]
    P = sp.csr_array((np.ones(len(within)), (within, columns)), shape=(n, len(numbers)))
    most = np.zeros(P.shape[1])
    np.maximum.at(most, columns, np.array(largest)[within])
    return P, most


def levels(A: sp.csr_array) -> SimpleNamespace:
    """What precond amg makes of a matrix whose rows all couple, as a hierarchy."""
    found = [SimpleNamespace(A=A)]
    while found[-1].A.shape[0] > 64:
        A = found[-1].A
        first, largest = pairs(A, np.zeros(A.shape[0]), True)
        second, _ = pairs(sp.csr_array(first.T @ A @ first), largest, False)
        P = sp.csr_array(first @ second)
        if P.shape[1] > 0.8 * P.shape[0]:
            break
        found[-1].P = P
        found.append(SimpleNamespace(A=sp.csr_array(P.T @ A @ P / 1.6)))
    return SimpleNamespace(levels=found)


@pytest.mark.parametrize("cycle", ["v", "w"])
@pytest.mark.parametrize("contrast", [10.0, 1e6])
def test_the_same_levels_as_in_numpy(cycle, contrast) -> None:
    A = scattered(40, contrast)
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    options = {**OPTIONS, "rtol": 1e-14, "ranks": 1, "cycle": cycle, "maxiter": 4, "on_failure": "return"}
    want, found = (
        sordino.solve(A, b, **options, **given) for given in ({"M": levels(A)}, {"precond": "amg"})
    )
    assert found.iterations == want.iterations == 4
    assert np.linalg.norm(found.x - want.x) <= 1e-12 * contrast * np.linalg.norm(want.x)


@pytest.mark.parametrize("cycle", ["v", "w"])
def test_few_iterations_where_bubbles_rise_in_what_is_a_million_times_as_dense(cycle) -> None:
    p = multiphase(24, 24, 24, contrast=1e6)
    options = {**OPTIONS, "cycle": cycle}
    by_grid = sordino.solve(p.A, p.b, precond="mg", grid=(24, 24, 24), ranks=1, **options)
    assert by_grid.iterations <= 30  # of aggregates, too, below the levels that tell bubbles apart
    for ranks in (1, 2, 3):
        found = sordino.solve(p.A, p.b, precond="amg", ranks=ranks, **options)
        assert np.linalg.norm(p.b - p.A @ found.x) <= 1e-8 * np.linalg.norm(p.b) * (1 + 1e-9)
        assert found.iterations <= 30
        assert found.report.options["precond"] == "amg"


@pytest.mark.parametrize("boundary", ["neumann", "dirichlet"])
def test_obstacles_and_pressures_that_no_face_holds(boundary) -> None:
    p = multiphase(16, 20, 24, contrast=1e3, obstacles=3, boundary=boundary, seed=3)
    for ranks in (1, 3):
        found = sordino.solve(p.A, p.b, precond="amg", nullspace=p.nullspace, ranks=ranks, **OPTIONS)
        assert found.converged and found.iterations <= 30


def test_few_iterations_in_any_order_of_rows() -> None:
    A = scattered(60, 1e3)
    b = np.ones(A.shape[0])
    plain = sordino.solve(A, b, ranks=1, precond="jacobi", **OPTIONS)
    for ranks, partition in ((1, "blocks"), (3, "blocks"), (3, "metis")):
        found = sordino.solve(A, b, precond="amg", ranks=ranks, partition=partition, **OPTIONS)
        assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
        assert found.iterations < plain.iterations / 4
    x, info = sordino.linalg.cg(A, b, rtol=1e-8, M="amg", ranks=2)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    box = sordino.poisson(12, 14, 16, contrast=100.0)
    right = np.ones(box.shape[0])
    found = sordino.solve(box, right, precond="amg", ranks=4, partition="boxes", grid=(12, 14, 16), **OPTIONS)
    assert np.linalg.norm(right - box @ found.x) <= 1e-8 * np.linalg.norm(right) * (1 + 1e-9)


def test_the_model_has_the_hosts_bits_and_memory_is_foretold() -> None:
    A = scattered(30, 1e3)
    b = np.ones(A.shape[0])
    options = {**OPTIONS, "ranks": 3, "precond": "amg"}
    with sordino.Solver(A, **options) as solver:
        x, held = solver.solve(b).x, solver.memory()
    told = sordino.estimate_memory(A, **options)
    assert told["bytes_per_rank"] == held["bytes_per_rank"] and told["matrix_bytes"] == held["matrix_bytes"]
    modelled = sordino.solve(A, b, **{**options, "engine": "model", "seed": 5})
    assert np.array_equal(modelled.x, x)


def test_time_steps_make_coarse_matrices_anew() -> None:
    first, second = (sordino.poisson(16, 20, 24, contrast=c) for c in (10.0, 1000.0))
    b = np.ones(first.shape[0])
    with sordino.Solver(first, precond="amg", ranks=2, **OPTIONS) as solver:
        held = solver.memory()["bytes_per_rank"]
        few = solver.solve(b).iterations
        solver.update_values(second.data)
        found = solver.solve(b)
        assert np.linalg.norm(b - second @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
        assert found.iterations <= 2 * few
        solver.update_values(first.data)
        assert solver.solve(b).iterations == few
        assert solver.memory()["bytes_per_rank"] == held


def test_several_processes_solve_as_one(mpirun_python, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, sordino\n"
        "A = sordino.poisson(12, 12, 12, contrast=100.0)\n"
        "found = sordino.solve(A, np.ones(1728), precond='amg', ranks=1, solver='cg', rtol=1e-8, engine='host')\n"
        "if found.x is not None:\n"
        "    np.save('x.npy', found.x)\n"
    )
    done = mpirun_python(2, program)
    assert done.returncode == 0, done.stderr
    A = sordino.poisson(12, 12, 12, contrast=100.0)
    one = sordino.solve(A, np.ones(1728), precond="amg", ranks=2, **OPTIONS)
    assert np.linalg.norm(np.load(tmp_path / "x.npy") - one.x) <= 1e-12 * np.linalg.norm(one.x)


def test_the_command_line_needs_no_grid(cli) -> None:
    words = ("poisson", 16, 16, 16, "--precond", "amg", "--solver", "cg", "--engine", "host", "--json")
    code, out, err = cli(*words, "--cycle", "w", "--rtol", "1e-8")
    assert code == 0, err
    said = json.loads(out)
    assert said["status"] == "converged" and said["iterations"] <= 15


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("poisson", 8, 8, 8, "--solver", "pipebicgstab"), "takes no preconditioner but a diagonal"),
        (("poisson", 8, 8, 8, "--deterministic", "on"), "the levels of precond amg depend on it"),
    ],
)
def test_bad_usage(cli, words, sentence) -> None:
    code, out, err = cli(*words, "--precond", "amg", "--engine", "host", "--ranks", 2)
    assert code == 2 and out == "" and sentence in err


def refused(A, sentence: str, error=sordino.BadArgument, **options) -> None:
    with pytest.raises(error, match=sentence):
        sordino.Solver(A, precond="amg", **{**OPTIONS, "ranks": 1, **options})


def test_what_it_is_not_for_is_refused() -> None:
    A = scattered(20, 10.0)
    skew = sp.csr_array(A + 0.1 * sp.triu(A, 1))
    refused(skew, "precond amg needs a symmetric positive definite matrix", solver="bicgstab")
    negative = A - sp.csr_array(([2 * A[7, 7]], ([7], [7])), shape=A.shape)
    refused(sp.csr_array(negative), "the diagonal of row 7 is not positive")
    refused(
        sp.diags_array(np.ones(3000), format="csr"),
        "ends with 3000 of them, more than 2048, which are inverted",
    )
    refused(
        sp.csr_array(A * (1 + 0j)),
        "precond amg is for real matrices: use jacobi or none",
        sordino.Unsupported,
    )
    refused(sp.linalg.aslinearoperator(A) * 1, "amg needs the entries of the matrix")


def test_rows_of_one_process_have_the_levels_of_the_whole_matrix() -> None:
    A, options = scattered(20, 10.0), {**OPTIONS, "precond": "amg", "ranks": 2}
    A.sort_indices()
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    with sordino.RowsSolver(None, A, **options) as rows:
        report = rows.solve(b).report
        assert report.iterations == sordino.solve(A, b, **options).iterations
        rows.update_values(2 * A.data)
        report = rows.solve(b).report
        assert (report.levels_made, report.levels_reused) == (1, 1)


@pytest.mark.parametrize("n", [5, 20, 37, 61, 64])
def test_numbers_that_overflow_on_the_last_level_end_a_solve_and_not_the_process(n) -> None:
    A = sp.diags_array(
        [np.full(n, 1e-200), np.full(n - 1, -1e150), np.full(n - 1, -1e150)], offsets=[0, 1, -1]
    )
    with pytest.raises((sordino.BadArgument, sordino.NotConverged)):
        sordino.solve(A.tocsr(), np.ones(n), solver="cg", precond="amg", engine="host", ranks=1)
