#!/bin/sh
# Jacobi-CG on 64^3 cells, 27 points, beside PETSc's on one and on two processes, in one command:
#   bench/beside_petsc.sh [--install] [options of sordino bench petsc, such as --record FILE]
# --install brings Debian's PETSc, as root. `sordino` must be installed, as `make demo` does into .venv.
set -eu
cd "$(dirname "$0")/.."
install=
[ "${1:-}" != --install ] || { install=--install; shift; }
bench/petsc/build.sh $install
python=python3
[ ! -x .venv/bin/python ] || python=.venv/bin/python
exec "$python" -m sordino bench petsc --size 64 --stencil 27 --ranks 1,2 "$@"
