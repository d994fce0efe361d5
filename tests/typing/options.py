"""What a type checker finds in a user's program: `make lint` fails where a remark below is not needed."""

import numpy as np

import sordino

A = sordino.poisson(8, 8, 8)
b = np.ones(512)

s = sordino.Solver(A, solver="cg", rtol=np.float64(1e-3), ranks=np.int64(2), devices=[0, 1])
s.solve(b, rtol=1e-8, maxiter=7)
s.solve(b, engine="host")  # type: ignore[call-arg]
sordino.solve(A, b, rtool=1e-8)  # type: ignore[call-arg]
sordino.solve(A, b, solver=7)  # type: ignore[arg-type]
sordino.solve(A, b, engine="gpu")  # type: ignore[arg-type]
sordino.solve(A, b, ranks="two")  # type: ignore[arg-type]
sordino.solve(A, b, M="jacobi", nullspace="constant", callback_every=5)
