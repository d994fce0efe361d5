#!/bin/sh
# Builds build/bench/petsc_ksp, through which Sordino's benchmarks ask PETSc: petsc_ksp PROCESSES SYSTEM X [options]; and, where
# hypre's headers are, build/bench/hypre_pcg: hypre_pcg PROCESSES SYSTEM X RTOL [REPEATS], and build/bench/hypre_pfmg, which takes
# the cells of a grid behind these.
#   bench/petsc/build.sh             with the PETSc that pkg-config knows; PETSC_DIR's, where that is set
#   bench/petsc/build.sh --install   on Debian and Ubuntu installs it first, as root
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${1:-}" = --install ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libpetsc-real-dev libhypre-dev pkg-config gcc libc6-dev
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

# build NAME WORDS...: compiles NAME.c with these words, and writes what starts it on so many processes.
build() {
  name=$1
  shift
  "${mpi}mpicc" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$root/build/bench/$name.bin" "$root/bench/petsc/$name.c" "$@"
  cat > "$root/build/bench/$name" <<END
#!/bin/sh
# Written by bench/petsc/build.sh. One process needs no launcher.
processes=\$1; shift
[ "\$processes" != 1 ] || exec "$root/build/bench/$name.bin" "\$@"
exec "${mpi}mpiexec" --bind-to none -n "\$processes" "$root/build/bench/$name.bin" "\$@"
END
  chmod +x "$root/build/bench/$name"
}

build petsc_ksp $(pkg-config --cflags --libs petsc)
echo "build/bench/petsc_ksp: PETSc $(pkg-config --modversion petsc)"
for folder in ${HYPRE_DIR:+"$HYPRE_DIR/include"} /usr/include/hypre; do
  [ -f "$folder/HYPRE.h" ] || continue
  for name in hypre_pcg hypre_pfmg; do
    build $name -I"$folder" ${HYPRE_DIR:+-L"$HYPRE_DIR/lib" -Wl,-rpath,"$HYPRE_DIR/lib"} -lHYPRE -lm
  done
  echo "build/bench/hypre_pcg, hypre_pfmg: hypre $(sed -n 's/.*HYPRE_RELEASE_VERSION *"\(.*\)"/\1/p' "$folder/HYPRE_config.h")"
  exit 0
done
echo "hypre was not found, and is left out: set HYPRE_DIR, or install libhypre-dev."
