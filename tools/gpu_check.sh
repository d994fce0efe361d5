#!/usr/bin/env bash
# Builds Sordino with CUDA, tests and measures it, on a machine that has GPUs, nvcc, cmake, ninja and a Python with
# nanobind, scikit-build-core, numpy, scipy and pytest; nothing is fetched.
#
#   tools/gpu_check.sh                                  build, ctest -L gpu, pytest tests/gpu
#   tools/gpu_check.sh --tests overlap                  ... and the C++ tests whose ctest name has `overlap` in it
#   tools/gpu_check.sh --sanitize memcheck "halo"       compute-sanitizer on the GPU tests with `halo` in their names
#   tools/gpu_check.sh --bench cg -- --sizes 128        python -m sordino bench cg --record ... --sizes 128
#   tools/gpu_check.sh --no-tests --bench cg
#
# --sanitize TOOL [FILTER]   memcheck, racecheck, initcheck or synccheck; may be repeated. FILTER: part of test names
# --bench NAME               may be repeated; arguments after `--` go to every benchmark
# --no-tests                 only build, sanitize and measure
# --only-build               build and stop
# --python ARGS              arguments to pytest instead of tests/gpu
#
# Everything goes to $OUT (default ./out): logs, results of the tests, and records.jsonl with one line a measurement,
# with its machine, commit and command. The table comes last; the exit code is 1 when a step failed.
# From the environment: SORDINO_MPI=ON builds with MPI, and tests GPUs of several processes, too;
# BUILD (default build/gpu) keeps the build for the next call; COMMIT names the commit of a tree
# that came without its git; LIMIT_BUILD, LIMIT_TESTS, LIMIT_SANITIZE and LIMIT_BENCH bound each step, in seconds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${OUT:-$PWD/out}
build=${BUILD:-build/gpu}
site=$(realpath -m "$build/site")
python=${PYTHON:-python3}
limit_build=${LIMIT_BUILD:-540}
limit_tests=${LIMIT_TESTS:-240}
limit_sanitize=${LIMIT_SANITIZE:-240}
limit_bench=${LIMIT_BENCH:-180}
mkdir -p "$out" "$build"

tests=() sanitize=() filters=() benches=() bench_arguments=() pytest_arguments=(tests/gpu)
run_tests=1 only_build=0
while (($#)); do
  case $1 in
    --tests) tests+=("$2"); shift 2 ;;
    --python) read -r -a pytest_arguments <<<"$2"; shift 2 ;;
    --sanitize)
      sanitize+=("$2")
      if (($# > 2)) && [[ $3 != --* ]]; then filters+=("$3"); shift 3; else filters+=(""); shift 2; fi
      ;;
    --bench) benches+=("$2"); shift 2 ;;
    --no-tests) run_tests=0; shift ;;
    --only-build) only_build=1; shift ;;
    --) shift; bench_arguments=("$@"); break ;;
    *) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//' >&2; exit 2 ;;
  esac
done

names=() states=() seconds=() remarks=()
# step NAME LIMIT COMMAND...: runs it with its output in $out/NAME.log, and remembers how it went.
step() {
  local name=$1 limit=$2 start=$SECONDS status
  shift 2
  timeout --kill-after=10 "$limit" "$@" >"$out/$name.log" 2>&1
  status=$?
  names+=("$name")
  seconds+=($((SECONDS - start)))
  case $status in
    0) states+=(passed) ;;
    77) states+=(skipped) ;; # every test it was to run was skipped
    124 | 137) states+=("over ${limit}s") ;;
    *) states+=("failed ($status)") ;;
  esac
  remarks+=("$(grep -aE '^[0-9]+% tests passed|[0-9]+ (passed|failed|skipped)|ERROR SUMMARY|error:|Error:' "$out/$name.log" |
    tail -n 1 | cut -c 1-90)")
  ((status == 0 || status == 77)) || { echo "---- $name: ${states[-1]}; the end of its log:"; tail -n 25 "$out/$name.log"; }
  return "$status"
}

finish() {
  local failed=0 i
  {
    printf '%-22s %-13s %6s  %s\n' step result s closing
    for i in "${!names[@]}"; do
      printf '%-22s %-13s %6s  %s\n' "${names[i]}" "${states[i]}" "${seconds[i]}" "${remarks[i]}"
    done
  } >"$out/table.txt"
  cat "$out/table.txt"
  for i in "${states[@]}"; do [[ $i == passed || $i == skipped ]] || failed=1; done
  exit "$failed"
}

# ---- build: one tree for the library, the tests and the Python module ------------------------------------------------
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpus.txt" 2>&1
cat "$out/gpus.txt"
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
export SORDINO_COMMIT=${COMMIT:-${SORDINO_COMMIT:-}} # compiled in, and so in every record
step build "$limit_build" "$python" -m pip install -v --no-index --no-build-isolation --no-deps --no-cache-dir \
  --upgrade --target "$site" --config-settings=build-dir="$build" --config-settings=build.targets=all \
  --config-settings=cmake.define.SORDINO_CUDA=ON --config-settings=cmake.define.SORDINO_BUILD_TESTS=ON \
  --config-settings=cmake.define.SORDINO_BUILD_EXAMPLES=ON \
  --config-settings=cmake.define.SORDINO_MPI="${SORDINO_MPI:-OFF}" . || finish
((only_build)) && finish
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
# The C++ tests look for NVSHMEM where this says; else only where the loader does.
wheel=$("$python" -c 'from sordino import _wheels; print(_wheels.library("nvshmem", _wheels.NVSHMEM))')
export SORDINO_NVSHMEM=${SORDINO_NVSHMEM:-$wheel}

# ---- tests -----------------------------------------------------------------------------------------------------------
if ((run_tests)); then
  step ctest-gpu "$limit_tests" ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error \
    --output-junit "$out/ctest-gpu.xml"
  for name in "${tests[@]}"; do
    step "ctest-$name" "$limit_tests" ctest --test-dir "$build" -R "$name" --output-on-failure --no-tests=error -j 8
  done
  step pytest "$limit_tests" "$python" -m pytest -q -rfEs -p no:cacheprovider --junitxml="$out/pytest.xml" \
    "${pytest_arguments[@]}"
fi

# ---- compute-sanitizer: the GPU tests with the filter in their names ---------------------------------------------------
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
for i in "${!sanitize[@]}"; do
  tool=${sanitize[i]}
  for program in "$build"/tests/sordino_*; do
    [[ -x $program && -f $program && $program != *_mpi && $program != *selftest ]] || continue
    # In tests/gpu every test needs the GPU, and a filter means those; elsewhere only tests that say so do.
    wanted=("[gpu]")
    if [[ $program == */sordino_gpu ]]; then
      wanted=(${filters[i]:+"${filters[i]}"})
    elif [[ -n ${filters[i]} ]]; then
      continue
    fi
    "$program" --list "${wanted[@]}" | grep -q . || continue
    step "$tool-${program##*sordino_}" "$limit_sanitize" env SORDINO_ARRAYS_APART=1 "$sanitizer" --tool "$tool" --error-exitcode 86 \
      --print-limit 20 "$program" "${wanted[@]}"
  done
done

# ---- measurements ----------------------------------------------------------------------------------------------------
for name in "${benches[@]}"; do
  # Every benchmark appends its own records; the table it prints is the end of its log.
  step "bench-$name" "$limit_bench" "$python" -m sordino bench "$name" --record "$out/records.jsonl" \
    "${bench_arguments[@]}" && cat "$out/bench-$name.log"
done
finish
