"""A stand-in for the compiled module: its interface, with a serial Jacobi-CG behind it.

For tests of what surrounds the core (options, files, command line, reports), and of what a
test machine seldom has: devices, failing peers, several processes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

OPTIONS = [
    (
        "solver",
        "choice",
        "auto",
        "the method",
        ["auto", "cg", "prcg", "bicgstab", "pbicgstab", "gmres"],
        "solve",
    ),
    ("precond", "choice", "auto", "the preconditioner", ["auto", "none", "jacobi"], "solve"),
    ("grid", "str", "", "cells in x, y and z", None, "solve"),
    ("rtol", "float", 1e-5, "relative tolerance", None, "solve"),
    ("atol", "float", 0.0, "absolute tolerance", None, "solve"),
    ("maxiter", "int", 10000, "iterations at most", None, "solve"),
    ("engine", "choice", "auto", "who executes", ["auto", "host", "cuda", "model"], "run"),
    ("ranks", "int", 0, "ranks in this process", None, "run"),
    ("devices", "str", "", "devices, such as 0-3", None, "run"),
    (
        "transport",
        "choice",
        "auto",
        "what carries messages",
        ["auto", "host", "nccl", "nvshmem", "mpi"],
        "run",
    ),
    (
        "storage",
        "choice",
        "auto",
        "how entries lie in memory",
        ["auto", "csr", "dia", "symdia", "constant"],
        "solve",
    ),
    ("partition", "choice", "blocks", "what a rank owns", ["blocks", "boxes", "metis"], "run"),
    ("all_reduce", "choice", "auto", "how sums come about", ["auto", "ordered", "tree"], "run"),
    ("time_limit", "float", 0.0, "seconds, 0: none; 100 % of it may be used", None, "run"),
    ("timeout", "float", 30.0, "seconds without progress", None, "run"),
    ("check_every", "int", 25, "iterations of a chunk", None, "run"),
    ("seed", "int", 0, "of the model's adversary", None, "run"),
    ("deterministic", "bool", False, "same bits for every number of ranks", None, "run"),
    ("trace", "bool", False, "keep a trace", None, "run"),
    ("time_commands", "bool", False, "measure the time of each command", None, "run"),
]


class Error(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class FakeCore:
    """The functions of ``sordino._core``; tests change the attributes to describe a machine."""

    Error = Error

    def __init__(self):
        self.cuda = False
        self.gpus = 0
        self.mpi_rank, self.mpi_size = 0, 1
        self.mpi_gpu_aware = False
        self.mpi_serialized = False
        self.fail = None  # an Error that solve raises
        self.made = []  # the options of each solver that was set up
        self.Solver = type("Solver", (FakeSolver,), {"core": self})

    def options(self):
        keys = ("name", "type", "default", "help", "choices", "group")
        return [dict(zip(keys, row, strict=True)) for row in OPTIONS]

    def solvers(self):
        return [
            {"name": "cg", "summary": "conjugate gradients", "requires": "spd", "contract": "2 reductions"},
            {
                "name": "bicgstab",
                "summary": "stabilised bi-CG",
                "requires": "general",
                "contract": "4 reductions",
            },
        ]

    def preconditioners(self):
        return [{"name": "jacobi", "summary": "the diagonal", "contract": "no communication"}]

    def build_info(self):
        return {
            "version": "9.9.9", "commit": "fa4e123", "compiler": "fake 1.0",
            "cuda": self.cuda, "cuda_architectures": [90], "cuda_version": "13.0",
            "mpi": self.mpi_size > 1, "mpi_library": "fake MPI",
        }  # fmt: skip

    def devices(self):
        gpu = {
            "name": "Fake H200",
            "memory_total": 150 * 10**9,
            "capability": "9.0",
        }
        access = [[True] * self.gpus for _ in range(self.gpus)]
        return {
            "devices": [gpu] * self.gpus,
            "peer_access": access,
            "peer_atomics": access,
            "reason": "" if self.gpus else "no driver",
        }

    def mpi(self):
        started = self.mpi_size > 1
        return {
            "initialized": started,
            "rank": self.mpi_rank,
            "size": self.mpi_size,
            "reason": "" if started else "one process",
            "gpu_aware": self.mpi_gpu_aware,
            "threads": "MPI_THREAD_MULTIPLE",
            "serialized": self.mpi_serialized,
        }

    def take_rows(self, indptr, indices, data, n, words, own):
        return None  # as of what is to be converted

    def poisson(self, nx, ny, nz, stencil, contrast):
        def laplace(n):
            return (
                sp.diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
                if n > 1
                else sp.csr_array((1, 1))
            )

        eye = [sp.eye_array(n) for n in (nx, ny, nz)]
        parts = [laplace(nx), laplace(ny), laplace(nz)]
        off = sp.kron(eye[2], sp.kron(eye[1], parts[0])) + sp.kron(eye[2], sp.kron(parts[1], eye[0]))
        off = off + sp.kron(parts[2], sp.kron(eye[1], eye[0]))
        matrix = sp.csr_array(6.0 * sp.eye_array(nx * ny * nz) - abs(off))
        matrix.sort_indices()
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


class FakeSolver:
    core: FakeCore

    def __init__(self, indptr, indices, data, n, options, machine):
        assert (indptr.dtype, indices.dtype, data.dtype) == (np.int64, np.int32, np.float64)
        numbers = list((machine or {}).values())  # some in objects of their own
        numbers += [v for part in numbers if isinstance(part, dict) for v in part.values()]
        assert all(isinstance(value, (int, float, dict)) for value in numbers)
        self.matrix = sp.csr_array((data, indices, indptr), shape=(n, n))  # views, as the core does
        self.options = dict(options)
        self.core.made.append({"options": dict(options), "machine": machine})
        if options.get("precond", "auto") == "jacobi" and not self.matrix.diagonal().all():
            raise Error(
                "bad_argument", "the diagonal has a zero, and the Jacobi preconditioner divides by it"
            )

    def update_values(self, data):
        self.matrix.data[:] = data

    def method(self):
        asked = self.options.get("solver", "auto")
        return "cg" if asked == "auto" else asked

    def steps(self):
        return 1

    def time_product(self, pairs):
        return 1e-6 * pairs

    def memory(self):
        return {
            "bytes_per_rank": [self.matrix.data.nbytes],
            "first_rank": 0,
            "device_allocations": [0],
            "matrix_bytes": 0,
        }

    def solve(self, b, x0=None, progress=None, options=()):
        if self.core.fail:
            raise self.core.fail
        asked = {"rtol": 1e-5, "atol": 0.0, "maxiter": 10000, **self.options, **dict(options)}
        x, history, status = _cg(self.matrix, b, x0, asked, progress)
        norm = float(np.linalg.norm(b))
        residual = float(np.linalg.norm(b - self.matrix @ x))
        return {
            "x": x if self.core.mpi_rank == 0 else None,
            "status": status, "reason": f"the residual is {residual:.3g}", "iterations": len(history),
            "true_residual": residual / norm if norm else 0.0, "residual_norm": residual,
            "seconds": 0.25, "setup_seconds": 0.125,
            "solver": self.options.get("solver", "cg"), "precond": "jacobi",
            "storage": "csr", "storage_reason": "it has more than 27 diagonals",
            "engine": self.options["engine"], "transport": "threads", "ranks": self.options["ranks"],
            "history": np.array(history),
            "ledger": _ledger(len(history), 1.0 if asked.get("time_commands") else 0.0),
            "trace": _trace(asked.get("ranks", 1)) if asked.get("trace") else [],
        }  # fmt: skip


def _cg(matrix, b, x0, asked, progress):
    inverse = 1.0 / matrix.diagonal()
    x = np.zeros_like(b) if x0 is None else x0.copy()
    r = b - matrix @ x
    z = inverse * r
    p, rho, goal = z.copy(), r @ z, max(asked["rtol"] * np.linalg.norm(b), asked["atol"])
    history, status = [], "max_iterations"
    if np.linalg.norm(r) <= goal:
        return x, history, "converged"
    for iteration in range(asked["maxiter"]):
        q = matrix @ p
        curvature = p @ q
        if curvature <= 0:
            return x, history, "indefinite"
        x += rho / curvature * p
        r -= rho / curvature * q
        z = inverse * r
        rho, before = r @ z, rho
        p = z + rho / before * p
        history.append(float(np.linalg.norm(r) / np.linalg.norm(b)))
        if progress and progress(iteration + 1, history[-1]):
            return x, history, "stopped_by_user"
        if np.linalg.norm(r) <= goal:
            status = "converged"
            break
    return x, history, status


def _ledger(n, timed):
    return {
        "commands": 3 * n, "reductions": 2 * n + 3, "reduced_values": 3 * n + 4, "messages": 2 * n + 2,
        "bytes_sent": 4096 * n, "carried": {"threads": {"messages": 2 * n + 2, "bytes": 4096 * n}},
        "memory_bytes": 1e6 * n, "flops": 2e5 * n, "exposed_reduction_s": 0.01,
        "hidden_reduction_s": 0.24, "exposed_halo_s": 0.002, "imbalance_s": 0.004, "time_s": 0.25,
        "kernels": [
            {"name": "apply <A> & dot", "calls": n, "seconds": 0.15 * timed, "bytes": 6e5 * n, "flops": 1.4e5 * n},
            {"name": "update", "calls": n, "seconds": 0.05 * timed, "bytes": 4e5 * n, "flops": 6e4 * n},
        ],
    }  # fmt: skip


def _trace(ranks):
    spans = []
    for rank in range(ranks):
        for step in range(40):
            start = step * 0.00625
            spans.append((rank, 0, "apply", "compute", start, start + 0.003))
            spans.append((rank, 0, "reduction", "reduction wait", start + 0.003, start + 0.0042))
            spans.append((rank, 0, "update", "compute", start + 0.0042, start + 0.0062))
            spans.append((rank, 1, "halo", "halo wait", start, start + 0.001))
    keys = ("rank", "queue", "name", "kind", "start_s", "end_s")
    return [dict(zip(keys, span, strict=True)) for span in spans]
