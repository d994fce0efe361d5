"""``sordino.RowsSolver`` in one process, and communicators that cannot be used. Several processes: test_rows_mpi.py."""

from __future__ import annotations

import ctypes
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino._native import core


@pytest.fixture
def system():
    A = sp.csr_array(sordino.poisson(9, 8, 7))
    return A, A @ np.linspace(1, 2, A.shape[0])


def made(A, **options):
    return sordino.RowsSolver(
        None, A.indptr, A.indices, A.data, **{"engine": "host", "rtol": 1e-10, **options}
    )


def test_one_process_has_all_rows(system):
    A, b = system
    whole = sordino.solve(A, b, engine="host", ranks=3, rtol=1e-10)
    with made(A, ranks=3) as solver:
        assert (solver.n, solver.rows, solver.first_row, solver.nnz, solver.ranks) == (504, 504, 0, A.nnz, 3)
        assert repr(solver) == "<sordino.RowsSolver of 504 rows, 0 to 503 here, 3 ranks>"
        done = solver.solve(b)
        np.testing.assert_array_equal(done.x, whole.x)
        assert done.report.problem == {"n": 504, "rows": 504, "nnz": A.nnz}
        assert done.report.options["solver"] == "cg" and done.ledger["reductions"] > 0
        assert solver.solve(b, x0=done.x).iterations == 0
    assert repr(solver) == "<sordino.RowsSolver, closed>"
    with pytest.raises(sordino.BadArgument, match="has been closed"):
        solver.solve(b)
    with pytest.raises(sordino.BadArgument, match="has been closed"):
        _ = solver.n


def test_a_scipy_matrix_stands_for_three_arrays(system):
    A, b = system
    expected = made(A).solve(b).x
    with sordino.RowsSolver(None, A, engine="host", rtol=1e-10) as solver:
        assert solver.nnz == A.nnz
        np.testing.assert_array_equal(solver.solve(b).x, expected)
    for arguments, sentence in (
        ((A.tocoo(),), "a SciPy matrix in coo form, and CSR is needed"),
        ((A, A.indices), "one SciPy matrix, or three arrays, and not"),
        ((A.indptr, A.indices), "rows are three arrays, indptr, indices and data, or"),
        ((A.toarray(),), "rows are three arrays, indptr, indices and data, or"),
        ((A[:, :-4],), "its rows have 500 columns, and all processes together have 504 rows"),
        ((A[:3],), "its rows have 504 columns, and all processes together have 3 rows"),
    ):
        with pytest.raises(sordino.BadArgument, match=sentence):
            sordino.RowsSolver(None, *arguments)


@pytest.mark.parametrize("engine", ["host", "model"])
def test_ranks_that_nobody_asked_for_are_no_more_than_rows(engine):
    with sordino.RowsSolver(None, [0, 1], [0], [4.0], engine=engine) as solver:
        assert solver.ranks == 1 and solver.solve([8.0]).x == 2
    with pytest.raises(sordino.BadArgument, match=r"more ranks \(2\) than rows \(1\)"):
        sordino.RowsSolver(None, [0, 1], [0], [4.0], engine=engine, ranks=2)


def test_arrays_of_any_kind_and_what_is_viewed(system):
    A, b = system
    expected = made(A).solve(b).x
    for kinds in ((np.int64, np.int32), (np.int32, np.int64), (np.uint32, np.uint64), (list, list)):
        indptr, indices = (
            array.tolist() if kind is list else array.astype(kind)
            for kind, array in zip(kinds, (A.indptr, A.indices), strict=True)
        )
        np.testing.assert_array_equal(
            sordino.RowsSolver(None, indptr, indices, A.data, rtol=1e-10).solve(b).x, expected
        )
    strided = np.zeros((A.nnz, 2))
    strided[:, 1] = A.data
    solver = sordino.RowsSolver(None, A.indptr, A.indices, strided[:, 1], rtol=1e-10)
    strided[:] = np.nan  # values are copied
    np.testing.assert_array_equal(solver.solve(np.stack([b, b])[1]).x, expected)
    indptr, indices = A.indptr.astype(np.int64), A.indices.astype(np.int32)
    before = sys.getrefcount(indices)
    solver = sordino.RowsSolver(None, indptr, indices, A.data)
    assert sys.getrefcount(indices) > before  # viewed, and held
    solver.close()
    del solver
    assert sys.getrefcount(indices) == before


def test_vectors_by_dlpack_come_back_as_what_they_were(system):
    torch = pytest.importorskip("torch")
    A, b = system
    x = made(A).solve(torch.from_numpy(b)).x
    assert isinstance(x, torch.Tensor)
    np.testing.assert_array_equal(x.numpy(), made(A).solve(b).x)


def test_new_values_and_the_ways_in_which_a_solve_ends(system):
    A, b = system
    solver = made(A, solver="cg")
    x = solver.solve(b).x
    solver.update_values(2 * A.data)
    np.testing.assert_array_equal(solver.solve(b).x, x / 2)
    with pytest.raises(sordino.BadArgument, match="holds a NaN or Inf at row 0, column 0"):
        solver.update_values(np.where(np.arange(A.nnz) == 0, np.nan, A.data))
    with pytest.raises(sordino.BadArgument, match=f"has 3 values, and {A.nnz} are expected"):
        solver.update_values([1, 2, 3])
    np.testing.assert_array_equal(solver.solve(b).x, x / 2)
    few = solver.solve(b, maxiter=2, on_failure="return")
    assert few.status == "max_iterations" and few.iterations == 2
    with pytest.warns(sordino.NotConvergedWarning, match="max_iterations"):
        solver.solve(b, maxiter=2, on_failure="warn")
    with pytest.raises(sordino.NotConverged) as raised:
        solver.solve(b, maxiter=2)
    assert raised.value.solution.iterations == 2
    assert (
        solver.options["maxiter"] == 0 and solver.solve(b).converged
    )  # options of one solve are of that one


def test_what_cannot_be_used_is_refused_with_one_sentence(system):
    A, b = system
    good = (A.indptr, A.indices, A.data)
    for position, value, sentence in (
        (0, [0], "there are no rows here"),
        (0, [1, *A.indptr[1:]], "indptr must begin with 0, not with 1"),
        (0, [0, 10**9, *A.indptr[2:]], "indptr decreases at position 2"),
        (0, A.indptr[:-1], "indptr ends with"),
        (0, A.indptr.astype(float), "indptr must be a 1-d array of integers"),
        (1, A.indices.astype(np.int32) - 1, r"column index -1 in row 0 is out of range \(n = 504\)"),
        (1, A.indices.astype(np.int64) - 1, "column number -1 is out of range"),
        (1, A.indices.astype(np.int64) + 2**31, "out of range: a matrix has fewer than"),
        (1, A.indices + 1, r"column index 504 in row \d+ is out of range \(n = 504\)"),
        (1, A.indices[::-1], "are not in increasing order"),
        (2, A.data[:-1], "there are .* indices and .* values"),
        (2, A.data * 1j, "data is complex"),
        (2, "words", "data must be a 1-d array of real numbers"),
        (2, np.full(A.nnz, np.inf), "holds a NaN or Inf at row 0, column 0"),
    ):
        arrays = [value if k == position else good[k] for k in range(3)]
        with pytest.raises(sordino.BadArgument, match=sentence):
            sordino.RowsSolver(None, *arrays)
    for options, sentence in (
        ({"first_row": 3}, "its rows begin with 3, and 0 is expected"),
        ({"first_row": 1.5}, "first_row is the number of a row"),
        ({"color": "red"}, "unknown option 'color'"),
        ({"solver": "magic"}, "unknown solver 'magic'"),
        ({"machine": "h200"}, "did you mean 'h200x4'"),
        ({"timeout": "long"}, "takes a number"),
        ({"ranks": 505}, r"more ranks \(505\) than rows \(504\)"),
    ):
        with pytest.raises(sordino.BadArgument, match=sentence):
            sordino.RowsSolver(None, *good, **options)
    solver = made(A)
    for vector, sentence in (
        (b[1:], "b has shape"),
        (b[:, None], "b has shape"),
        (b * np.nan, "b holds nan at"),
    ):
        with pytest.raises(sordino.BadArgument, match=sentence):
            solver.solve(vector)
    with pytest.raises(sordino.BadArgument, match="x0 has shape"):
        solver.solve(b, b[1:])
    with pytest.raises(sordino.BadArgument, match="fixed at setup"):
        solver.solve(b, ranks=2)
    with pytest.raises(sordino.BadArgument, match="on_failure is one of"):
        solver.solve(b, on_failure="shout")


@pytest.mark.gpu
def test_rows_on_gpus(system):
    found = core().devices()
    if not found["devices"]:
        pytest.skip(found["reason"])
    A, b = system
    solver = made(A, engine="cuda")
    assert solver.solve(b).report.options["engine"] == "cuda"
    solver.update_values(2 * A.data)
    np.testing.assert_allclose(2 * solver.solve(b).x, made(A).solve(b).x, rtol=1e-7)
    with sordino.RowsSolver(
        None, [0, 1], [0], [4.0], engine="cuda"
    ) as one:  # whatever number of GPUs there is
        assert one.ranks == 1 and one.solve([8.0]).x == 2
    with pytest.raises(sordino.BadArgument, match="there is no device 999: this machine has"):
        made(A, engine="cuda", devices=[999])


# --- communicators ----------------------------------------------------------------------------------------------------


def test_what_is_no_communicator_is_refused(system):
    A, _ = system
    for comm in (3, "world", object()):
        with pytest.raises(sordino.BadArgument, match="a communicator of mpi4py or petsc4py, or None"):
            sordino.RowsSolver(comm, A.indptr, A.indices, A.data)

    class OfPetsc:
        def tompi4py(self):
            raise ImportError("no mpi4py")

    with pytest.raises(sordino.Unsupported, match="comes by way of mpi4py"):
        sordino.RowsSolver(OfPetsc(), A.indptr, A.indices, A.data)


@pytest.mark.parametrize(
    ("library", "bytes_", "sentence"),
    [
        (
            lambda: "Some MPI 3.1, of a friend",
            8,
            r"mpi4py uses another MPI library \(Some MPI 3.1\) than Sordino \(",
        ),
        (None, 8, "mpi4py uses another copy of the MPI library than Sordino"),
        (None, 4, "mpi4py uses another copy of the MPI library than Sordino"),
    ],
)
def test_a_communicator_of_another_mpi_library_is_refused(system, monkeypatch, library, bytes_, sentence):
    if not core().build_info()["mpi"]:
        pytest.skip("this build has no MPI")
    A, _ = system
    handle = ctypes.create_string_buffer(8)  # of all zeros, which is no library's world

    class Comm:
        pass

    def ours():
        maps = Path("/proc/self/maps").read_text().split()
        mpi = ctypes.CDLL(next(name for name in maps if "libmpi.so" in name or "libmpich" in name))
        text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
        mpi.MPI_Get_library_version(text, ctypes.byref(length))
        return text.value.decode()

    other = types.ModuleType("mpi4py.MPI")
    other.Comm, other.COMM_WORLD = Comm, Comm()
    other._addressof = lambda comm: ctypes.addressof(handle)
    other._sizeof = lambda comm: bytes_
    other.Get_library_version = library or ours
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", other)
    with pytest.raises(sordino.Unsupported, match=sentence):
        sordino.RowsSolver(Comm(), A.indptr, A.indices, A.data)


@pytest.mark.parametrize("ranks", [1, 3])
def test_null_vectors_by_rows(ranks):
    parts = [sordino.poisson(5, 4, 3, boundary="neumann"), sordino.poisson(4, 3, 3, boundary="neumann")]
    A = sp.block_diag(parts, format="csr")
    null = np.repeat(np.eye(2), [60, 36], axis=0)
    b = np.random.default_rng(1).standard_normal(96)
    with made(A, ranks=ranks, nullspace=null @ [[1.0, 2.0], [1.0, -3.0]]) as solver:
        done = solver.solve(b)
        np.testing.assert_allclose(done.x, np.linalg.pinv(A.toarray(), rcond=1e-10) @ b, atol=1e-8)
        outside = np.linalg.norm(null.T @ b / np.sqrt([60, 36]))
        assert done.report.outside_norm == pytest.approx(outside) and "outside the range" in done.reason
    for given, sentence in (
        ({"nullspace": np.arange(96.0)}, "A does not map vector 0"),
        ({"nullspace": np.ones((96, 2))}, "vector 1 .* depends"),
        ({"nullspace": np.ones(95)}, r"shape \(95,\)"),
        ({"nullspace": np.ones(96) * 1j}, "A is real"),
        ({"left_nullspace": "constant"}, "without a nullspace"),
        ({"nullspace": "constnat"}, "did you mean 'constant'"),
    ):
        with pytest.raises(sordino.BadArgument, match=sentence):
            made(A, **given)
