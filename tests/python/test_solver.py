"""The Python face of solving, on a stand-in for the core: arguments, failures, callbacks, new values."""

from __future__ import annotations

import multiprocessing
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import sordino


@pytest.fixture
def system(fake_core, laplacian):
    matrix = laplacian(6)
    return matrix, matrix @ np.ones(216)


def test_solve_returns_a_verified_solution(system):
    A, b = system
    solution = sordino.solve(A, b, rtol=1e-10)
    assert solution.status == "converged" and solution.converged
    np.testing.assert_allclose(solution.x, 1, rtol=1e-8)
    assert len(solution.history) == solution.iterations
    assert solution.true_residual <= 1e-10 and solution.residual_norm <= 1e-10 * np.linalg.norm(b)
    assert solution.report.options["rtol"] == 1e-10 and solution.report.problem["n"] == 216
    assert "converged" in repr(solution)


def test_x_has_the_shape_of_b(system):
    A, b = system
    assert sordino.solve(A, b).x.shape == (216,)
    assert sordino.solve(A, b[:, None]).x.shape == (216, 1)


def test_several_right_hand_sides(system):
    A, b = system
    wanted = np.stack([np.ones(216), 2 * np.ones(216), np.arange(216.0)], axis=1)
    B = A @ wanted
    many = sordino.solve(A, B, rtol=1e-10)
    np.testing.assert_allclose(many.x, wanted, rtol=1e-7, atol=1e-7)
    assert many.converged and len(many.reports) == 3
    assert many.iterations == max(report.iterations for report in many.reports)
    assert many.seconds == sum(report.seconds for report in many.reports) and "columns=3, " in repr(many)
    assert len(sordino.solve(A, b).reports) == 1
    assert sordino.solve(A, B, x0=wanted).iterations == 0
    assert sordino.solve(A, B, x0=np.ones(216)).reports[0].iterations == 0
    with pytest.raises(sordino.BadArgument, match="x0 has 2 columns, and b has 3"):
        sordino.solve(A, B, x0=wanted[:, :2])
    B[7, 1] = np.nan
    with pytest.raises(sordino.BadArgument, match="column 1 of b holds nan at position 7"):
        sordino.solve(A, B)


def test_of_several_right_hand_sides_the_first_failure_is_told(system):
    A, b = system
    guesses = np.stack([np.ones(216), np.zeros(216), np.zeros(216)], axis=1)
    sentence = "column 1 of 3, 2 of which did not converge: max_iterations: "
    with pytest.raises(sordino.NotConverged, match=sentence) as failed:
        sordino.solve(A, np.stack([b, b, b], axis=1), guesses, rtol=1e-12, maxiter=3)
    solution = failed.value.solution
    assert solution.x.shape == (216, 3) and solution.report is solution.reports[1]
    assert [report.converged for report in solution.reports] == [True, False, False]


def test_not_converged_is_raised_and_carries_the_solution(system):
    A, b = system
    with pytest.raises(sordino.NotConverged, match="max_iterations") as failed:
        sordino.solve(A, b, rtol=1e-12, maxiter=3)
    assert failed.value.solution.iterations == 3 and failed.value.solution.x.shape == (216,)


def test_not_converged_can_be_a_warning_or_a_value(system):
    A, b = system
    with pytest.warns(sordino.NotConvergedWarning, match="max_iterations") as caught:
        assert sordino.solve(A, b, maxiter=3, on_failure="warn").status == "max_iterations"
    assert caught[0].filename == __file__ or "_solve" in caught[0].filename
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sordino.solve(A, b, maxiter=3, on_failure="return").status == "max_iterations"
    with pytest.raises(sordino.BadArgument, match="on_failure is one of raise, warn, return"):
        sordino.solve(A, b, on_failure="ignore")


def test_tolerances_for_one_solve_only(system):
    A, b = system
    solver = sordino.Solver(A, rtol=1e-3)
    few = solver.solve(b).iterations
    assert solver.solve(b, rtol=1e-12).iterations > few == solver.solve(b).iterations
    assert solver.solve(b, rtol=1e-12).report.options["rtol"] == 1e-12
    with pytest.raises(sordino.BadArgument, match="option 'engine' is fixed at setup"):
        solver.solve(b, engine="host")


def test_a_first_guess(system):
    A, b = system
    solver = sordino.Solver(A)
    assert solver.solve(b, x0=np.ones(216)).iterations == 0
    with pytest.raises(sordino.BadArgument, match="x0 has shape"):
        solver.solve(b, x0=np.ones(5))


def test_a_callback_sees_progress_and_stops(system):
    A, b = system
    seen = []
    solution = sordino.solve(
        A, b, on_failure="return", callback=lambda it, r: seen.append((it, r)) or it == 4
    )
    assert solution.status == "stopped_by_user" and [it for it, _ in seen] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("callback", "sentence"),
    [
        (lambda xk: None, r"called with \(iteration, residual\), and takes \(xk\): with x where"),
        (lambda it, r, x: None, r"takes \(it, r, x\): with x where callback_every"),
    ],
)
def test_a_callback_that_cannot_take_what_it_will_see_is_refused_at_once(system, callback, sentence):
    A, b = system
    with pytest.raises(sordino.BadArgument, match=sentence):
        sordino.solve(A, b, callback=callback)


def test_a_callback_may_take_anything(system):
    A, b = system
    for callback in (lambda *seen: None, lambda it, r, more=3: None, print):
        assert sordino.solve(A, b, callback=callback).converged


def test_an_exception_in_a_callback_comes_out(system):
    def broken(iteration, residual):
        raise ZeroDivisionError("mine")

    A, b = system
    with pytest.raises(ZeroDivisionError, match="mine"):
        sordino.solve(A, b, callback=broken)


def test_errors_of_the_core_become_exceptions(system, fake_core):
    A, b = system
    kinds = {
        "bad_argument": sordino.BadArgument,
        "io": sordino.FileError,
        "device": sordino.DeviceError,
        "peer_failed": sordino.PeerFailed,
        "unsupported": sordino.Unsupported,
        "unheard of": sordino.SordinoError,
    }
    for code, kind in kinds.items():
        fake_core.fail = fake_core.Error(code, "rank 2 failed: the cause")
        with pytest.raises(kind, match="rank 2 failed: the cause") as failed:
            sordino.solve(A, b)
        assert failed.value.__cause__ is None
        assert failed.value.rank is None and failed.value.command is None
    known = {"rank": 2, "command": "Dot", "iteration": 4, "expected_epoch": 6, "seen_epoch": 5}
    vars(fake_core.fail).update(known)
    with pytest.raises(sordino.SordinoError) as failed:
        sordino.solve(A, b)
    assert {name: getattr(failed.value, name) for name in known} == known
    fake_core.fail = None
    assert sordino.solve(A, b).converged


def test_a_missing_core_is_one_sentence(monkeypatch):
    from sordino import _native

    monkeypatch.setattr(_native, "_loaded", None)
    monkeypatch.setattr(
        _native.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError("no"))
    )
    with pytest.raises(sordino.Unsupported, match=r"build it with 'pip install \.'"):
        _native.core()


def test_new_values_in_the_order_of_csr(system):
    A, b = system
    solver = sordino.Solver(A)
    solver.update_values(2 * A.data)
    np.testing.assert_allclose(solver.solve(b, rtol=1e-10).x, 0.5, rtol=1e-8)
    solver.update_values(A)
    np.testing.assert_allclose(solver.solve(b, rtol=1e-10).x, 1, rtol=1e-8)


def test_new_values_whose_order_is_not_known_are_refused(system):
    A, b = system
    solver = sordino.Solver(A.tocoo())
    with pytest.raises(sordino.BadArgument, match="the order of bare values is known only for a CSR matrix"):
        solver.update_values(A.tocoo().data)
    solver.update_values(2 * A.tocsc())
    np.testing.assert_allclose(solver.solve(b, rtol=1e-10).x, 0.5, rtol=1e-8)


def test_new_values_that_cannot_be_used(system):
    A, _ = system
    solver = sordino.Solver(A)
    for values, sentence in (
        (A.data[1:], "must be 1,296 real numbers"),
        (A.data * np.nan, "hold NaN or infinity"),
        (A.data * 1j, "not complex128"),
        (sp.csr_array(A + sp.csr_array(([1.0], ([0], [215])), shape=A.shape)), "another pattern"),
    ):
        with pytest.raises(sordino.BadArgument, match=sentence):
            solver.update_values(values)


def test_the_caller_may_change_the_matrix_after_setup(system):
    A, b = system
    solver = sordino.Solver(A)
    A.data[:] = 0
    np.testing.assert_allclose(solver.solve(b, rtol=1e-10).x, 1, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ranks": -1}, "the number of ranks must be at least 1, or 0 for as many as fit, not -1"),
        ({"ranks": 217}, "217 ranks are more than the matrix has rows (216)"),
        ({"engine": "cuda"}, "engine 'cuda' is not in this build"),
        (
            {"engine": "host", "solver": "cg", "machine": "laptop"},
            "a machine is described for engine 'model', or for solver 'auto' to go by",
        ),
        ({"engine": "model", "machine": "laptob"}, "unknown machine 'laptob', did you mean 'laptop'?"),
    ],
)
def test_places_that_are_not_there(system, options, sentence):
    A, b = system
    with pytest.raises(sordino.BadArgument) as refused:
        sordino.solve(A, b, **options)
    assert sentence in str(refused.value)


def test_where_a_solve_runs_by_default(system, fake_core, monkeypatch):
    from sordino import machines

    A, _ = system
    monkeypatch.setattr(machines, "cores", lambda: 6)
    sordino.Solver(A)
    sordino.Solver(A, engine="model")
    fake_core.cuda = True
    sordino.Solver(A)
    fake_core.gpus = 3
    sordino.Solver(A)
    sordino.Solver(A, devices=[0, 2])
    fake_core.mpi_size = 2
    sordino.Solver(A, engine="host")
    sordino.Solver(sp.eye_array(2), engine="host")
    sordino.Solver(A)
    fake_core.gpus = 8
    sordino.Solver(A)
    sordino.Solver(A, devices="0-3")
    fake_core.gpus = 1
    sordino.Solver(A)
    chosen = [(made["options"]["engine"], made["options"]["ranks"]) for made in fake_core.made]
    assert chosen == [
        ("host", 6),
        ("model", 4),
        ("host", 6),
        ("cuda", 3),
        ("cuda", 2),
        ("host", 3),
        ("host", 1),
        ("cuda", 1),
        ("cuda", 4),
        ("cuda", 2),
        ("host", 3),
    ]
    assert fake_core.made[1]["machine"] == machines.numbers(machines.load("h200x4"))
    assert fake_core.made[0]["machine"] is None


def test_devices_that_are_not_there(system, fake_core, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    A, _ = system
    fake_core.cuda = True
    with pytest.raises(sordino.BadArgument, match="needs a GPU, and none can be used here: no driver"):
        sordino.Solver(A, engine="cuda")
    fake_core.gpus = 2
    with pytest.raises(sordino.BadArgument, match="there is no device 2: 2 can be used here"):
        sordino.Solver(A, engine="cuda", devices="0,2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    with pytest.raises(
        sordino.BadArgument,
        match="no device 4: 2 can be used here of those that CUDA_VISIBLE_DEVICES=4,5 shows",
    ):
        sordino.Solver(A, devices=4)


def test_devices_ask_for_gpus(system, fake_core):
    A, _ = system
    with pytest.raises(sordino.BadArgument, match="engine 'cuda' is not in this build"):
        sordino.Solver(A, devices=[0, 2])
    fake_core.cuda, fake_core.gpus = True, 6
    sordino.Solver(A, devices=[0, 2])
    sordino.Solver(A, devices="0-3,5", ranks=10)  # ranks may share a device
    sordino.Solver(A, devices="")
    made = [(m["options"]["devices"], m["options"]["engine"], m["options"]["ranks"]) for m in fake_core.made]
    assert made == [("0,2", "cuda", 2), ("0,1,2,3,5", "cuda", 10), ("", "cuda", 6)]
    for engine in ("host", "model"):
        with pytest.raises(
            sordino.BadArgument, match=f"devices are GPUs, which engine '{engine}' does not use"
        ):
            sordino.Solver(A, devices="0", engine=engine)


def _solve_in_child(solver, b, queue):
    try:
        solver.solve(b)
    except sordino.Unsupported as refused:
        queue.put(str(refused))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_solver_is_refused_after_a_fork(system):
    A, b = system
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_solve_in_child, args=(sordino.Solver(A), b, queue))
    child.start()
    assert "set up before a fork" in queue.get(timeout=20)
    child.join()


def test_the_library_never_prints(system, capsys):
    A, b = system
    sordino.solve(A.astype(np.float32), b)
    sordino.solve(A, b, maxiter=1, on_failure="return")
    assert capsys.readouterr() == ("", "")


def test_reports_are_saved_from_python(system, tmp_path):
    A, b = system
    report = sordino.solve(A, b, trace=True).report
    report.save_html(tmp_path / "r.html")
    report.save_trace(tmp_path / "t.json")
    with pytest.raises(sordino.FileError, match="exists already"):
        report.save_html(tmp_path / "r.html")
    report.save_html(tmp_path / "r.html", force=True)


def test_a_trace_that_was_not_asked_for_is_not_saved(system, tmp_path):
    A, b = system
    report = sordino.solve(A, b).report
    with pytest.raises(sordino.BadArgument, match="no trace to save: set the solver up with trace=True"):
        report.save_trace(tmp_path / "t.json")
    assert not list(tmp_path.iterdir())


def test_poisson(fake_core):
    A = sordino.poisson(3, 4, 5)
    assert A.shape == (60, 60) and A.nnz == 60 + 2 * (2 * 20 + 3 * 15 + 4 * 12)
    for arguments, sentence in (
        ({"nx": 0, "ny": 1, "nz": 1}, "at least one cell in each direction"),
        ({"nx": 1, "ny": 1, "nz": 1, "stencil": 9}, "7 or 27 points, not 9"),
        ({"nx": 1, "ny": 1, "nz": 1, "contrast": 0}, "a number above 0"),
        ({"nx": 1, "ny": 1, "nz": 1, "contrast": np.nan}, "a number above 0"),
        ({"nx": 10**5, "ny": 10**5, "nz": 10**5}, "bytes are available"),
    ):
        with pytest.raises(sordino.BadArgument, match=sentence):
            sordino.poisson(**arguments)
