#!/bin/sh
# Builds build/bench/petsc_ksp, through which Sordino's benchmarks ask PETSc: petsc_ksp PROCESSES SYSTEM X [options].
#   bench/petsc/build.sh             with the PETSc that pkg-config knows; PETSC_DIR's, where that is set
#   bench/petsc/build.sh --install   on Debian and Ubuntu installs it first, as root
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${1:-}" = --install ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libpetsc-real-dev pkg-config gcc libc6-dev
fi
[ -z "${PETSC_DIR:-}" ] || export PKG_CONFIG_PATH="$PETSC_DIR/${PETSC_ARCH:-}/lib/pkgconfig:${PKG_CONFIG_PATH:-}"
if ! pkg-config --exists petsc; then
  echo "PETSc was not found. On Debian: apt-get install libpetsc-real-dev pkg-config, or $0 --install as root;" \
    "elsewhere set PETSC_DIR (and PETSC_ARCH)." >&2
  exit 2
fi
# A virtual environment may bring an MPI of its own: Debian's PETSc goes with the MPI of /usr/bin.
mpi=$(pkg-config --libs petsc | grep -q /usr/lib/petscdir && echo /usr/bin/ || true)
[ -x "${mpi}mpicc" ] || mpi=
mkdir -p "$root/build/bench"
"${mpi}mpicc" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$root/build/bench/petsc_ksp.bin" "$root/bench/petsc/petsc_ksp.c" \
  $(pkg-config --cflags --libs petsc)
cat > "$root/build/bench/petsc_ksp" <<END
#!/bin/sh
# Written by bench/petsc/build.sh. One process needs no launcher.
processes=\$1; shift
[ "\$processes" != 1 ] || exec "$root/build/bench/petsc_ksp.bin" "\$@"
exec "${mpi}mpiexec" --bind-to none -n "\$processes" "$root/build/bench/petsc_ksp.bin" "\$@"
END
chmod +x "$root/build/bench/petsc_ksp"
echo "build/bench/petsc_ksp: PETSc $(pkg-config --modversion petsc)"
