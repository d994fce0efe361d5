# Two commands: `make demo` solves a system, `make test` runs every test that this machine can run.
# Both need git, make, g++ >= 12 and Python >= 3.10 with its headers; everything else is put into .venv, from PyPI.
# CUDA and MPI are used where they are found. SORDINO_CUDA=1 make ... brings nvcc where there is none.

VENV  := .venv
BUILD := build/make
JOBS  := $(shell nproc 2>/dev/null || echo 2)

.PHONY: help demo test cuda wheel format lint clean distclean FORCE
.DELETE_ON_ERROR:
.NOTPARALLEL:

help:
	@echo "make demo     install into .venv, solve a Poisson system on 4 ranks, write report.html"
	@echo "make test     build and run all tests that this machine can run; say what was skipped, and why"
	@echo "make docs     make the documentation, build/docs/index.html, and check its links"
	@echo "make cuda     compile all CUDA code for sm_90 (nothing is run)"
	@echo "make wheel    a wheel for other machines, and an archive of the sources, in dist/; both are checked"
	@echo "make format   format C++, CUDA and Python"
	@echo "make lint     check format, style, types and the layers of src/sordino"
	@echo "make clean    remove what was built; make distclean removes .venv too"

# ---- the environment -------------------------------------------------------------------------------------------------
# The first Python that can make an environment and compile a module.
CAN_BUILD := import ensurepip, os, sys, sysconfig, venv; \
  sys.exit(sys.version_info < (3, 10) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10 /usr/bin/python3; do \
  if $$python -c '$(CAN_BUILD)' 2>/dev/null; then echo $$python; break; fi; done)
endif

# Everything runs inside the environment, without being activated.
IN_VENV := VIRTUAL_ENV="$(abspath $(VENV))" PATH="$(abspath $(VENV))/bin:$$PATH" \
  CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) PIP_DISABLE_PIP_VERSION_CHECK=1
# mpiexec refuses to run as root, or with more processes than cores, unless it is told that this is meant.
MPI_MAY := OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# The options a build was made with: changed options make it stale, as changed sources do.
OPTIONS := CUDA=$(SORDINO_CUDA) ARCHITECTURES=$(SORDINO_CUDA_ARCHITECTURES) MPI=$(SORDINO_MPI) WERROR=$(SORDINO_WERROR) \
  CXX=$(CXX) $(CXXFLAGS)
$(BUILD)/options: FORCE
	@mkdir -p $(BUILD); echo '$(OPTIONS)' | cmp -s - $@ || echo '$(OPTIONS)' > $@

define make_venv
	@test -n "$(PYTHON)" || { echo "Sordino needs a Python >= 3.10 with its headers (Python.h) and its venv module," \
	  "and found none; on Debian they are in python3-dev and python3-venv. Or say make PYTHON=..."; exit 2; }
	@$(PYTHON) tools/make_venv.py $(VENV) $(1)
	@touch $@
endef

$(VENV)/.ready-build: pyproject.toml tools/make_venv.py $(BUILD)/options
	$(call make_venv,build)
$(VENV)/.ready-test: pyproject.toml tools/make_venv.py $(VENV)/.ready-build
	$(call make_venv,mpi)
$(VENV)/.ready-docs: pyproject.toml tools/make_venv.py
	$(call make_venv,docs)
$(VENV)/.ready-lint: pyproject.toml tools/make_venv.py
	$(call make_venv,lint)

# ---- build and install -----------------------------------------------------------------------------------------------
# pip builds in $(BUILD) and keeps it, so that a second build compiles only what changed; the tests are built there too.
# Folders are listed beside files: a removed file changes only its folder.
SOURCES := $(shell find CMakeLists.txt pyproject.toml cmake src python examples \
  -name __pycache__ -prune -o \( -type f -o -type d \) -print 2>/dev/null)
TEST_SOURCES := $(shell find tests bench -path tests/python -prune -o -path bench/records -prune -o -name __pycache__ -prune -o \
  \( -type d -o -name '*.cpp' -o -name '*.cu' -o -name '*.hpp' -o -name 'CMakeLists.txt' \) -print 2>/dev/null)

# $(call install,extras,more settings)
define install
	@echo "Building Sordino in $(BUILD) (the first time takes some minutes, and with CUDA far more; SORDINO_CUDA=OFF leaves" \
	  "it out; all that happens is in $(BUILD)/build.log)"
	@$(IN_VENV) $(VENV)/bin/python tools/with_progress.py $(BUILD)/build.log -- \
	  $(VENV)/bin/python -m pip install -v --no-build-isolation --config-settings=build-dir=$(BUILD) $(2) '.[$(1)]' \
	  || { sed '/subprocess-exited-with-error/,$$d' $(BUILD)/build.log | grep -E -A 12 '[Ee]rror' | head -n 60; \
	       grep '^ERROR' $(BUILD)/build.log; \
	       echo "Building Sordino failed; all of it is in $(BUILD)/build.log"; exit 1; }
	@grep -E '(^|[^a-z])warning: ' $(BUILD)/build.log | sort -u | head -n 20; true
	@sed 's/^/  /' $(BUILD)/sordino-features.txt
endef

$(BUILD)/installed-demo: $(SOURCES) $(VENV)/.ready-build
	$(call install,cli$(comma)report,)
	@touch $@

$(BUILD)/installed-test: $(SOURCES) $(TEST_SOURCES) $(VENV)/.ready-build $(VENV)/.ready-test
	$(call install,cli$(comma)report$(comma)test$(BROWSER),--config-settings=build.targets=all \
	  --config-settings=cmake.define.SORDINO_BUILD_TESTS=ON --config-settings=cmake.define.SORDINO_BUILD_EXAMPLES=ON \
	  --config-settings=cmake.define.SORDINO_BUILD_BENCH=ON)
	@touch $(BUILD)/installed-demo $@

comma := ,
# Reports are looked at in Chromium where there is one.
BROWSER := $(if $(shell for name in chromium chromium-browser google-chrome; do command -v $$name; done; true),$(comma)browser)

# ---- what one asks for -----------------------------------------------------------------------------------------------
demo: $(BUILD)/installed-demo
	$(VENV)/bin/sordino poisson 48 48 48 --ranks 4 --report report.html --force

test: $(BUILD)/installed-test
	@status=0; $(IN_VENV); export VIRTUAL_ENV PATH; export $(MPI_MAY) PYTHONDONTWRITEBYTECODE=1; \
	echo; echo "== C++ tests"; \
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) \
	  --output-junit ctest.xml --test-output-size-passed 100000 || status=1; \
	echo; echo "== Python tests"; \
	$(VENV)/bin/python -m pytest -q -r fE --junitxml=$(BUILD)/pytest.xml $(PYTEST_ARGS) || status=1; \
	echo; echo "== layout"; \
	$(VENV)/bin/python tools/check_layout.py || status=1; \
	echo; echo "== summary"; \
	$(VENV)/bin/python tools/test_summary.py $(BUILD) || status=1; \
	exit $$status

.PHONY: docs
# A warning is an error, and so is a link inside the site that leads nowhere. The reference is read from the installed module.
docs: $(BUILD)/installed-demo $(VENV)/.ready-docs
	@$(IN_VENV) $(VENV)/bin/python -m sphinx -b html -W --keep-going -q -j $(JOBS) -d build/doctrees docs build/docs
	@$(VENV)/bin/python tools/check_site.py build/docs

# Where `make test` has compiled the CUDA code already, its build is brought up to date; else there is one of its own.
cuda: export SORDINO_CUDA := 1
cuda:
	@$(if $(PYTHON),,$(error Sordino needs a Python >= 3.10 with its venv module))
	@$(PYTHON) tools/make_venv.py $(VENV) build
	@set -e; $(IN_VENV); export VIRTUAL_ENV PATH; \
	build=build/cuda; \
	if [ -f $(BUILD)/installed-test ] && grep -qs 'CUDA: on.* sm 90\b' $(BUILD)/sordino-features.txt; then \
	  build=$(BUILD); \
	else \
	  cmake -S . -B $$build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSORDINO_CUDA=ON -DSORDINO_CUDA_ARCHITECTURES=90 \
	    -DSORDINO_BUILD_TESTS=ON -DSORDINO_BUILD_EXAMPLES=ON -DSORDINO_BUILD_BENCH=ON --log-level=WARNING; \
	fi; \
	cmake --build $$build -j $(JOBS); \
	sed 's/^/  /' $$build/sordino-features.txt; \
	echo "Compiled for sm_90: $$(find src tests examples bench -name '*.cu' | wc -l) CUDA files"

# Where make has built with CUDA and MPI already, only the module is linked again; else there is a build of its own.
wheel: export SORDINO_CUDA := 1
wheel:
	@$(if $(PYTHON),,$(error Sordino needs a Python >= 3.10 with its headers and its venv module))
	@$(PYTHON) tools/make_venv.py $(VENV) build wheel
	@set -e; $(IN_VENV); export VIRTUAL_ENV PATH CMAKE_BUILD_PARALLEL_LEVEL PIP_DISABLE_PIP_VERSION_CHECK; \
	build=build/wheel; \
	if grep -qs 'CUDA: on' $(BUILD)/sordino-features.txt && grep -qs 'MPI: on' $(BUILD)/sordino-features.txt; then \
	  build=$(BUILD); \
	fi; \
	$(VENV)/bin/python tools/build_wheel.py --build-dir $$build --into dist; \
	$(VENV)/bin/python tools/check_wheel.py dist/sordino-*.whl --sources dist/sordino-*.tar.gz

CXX_FILES = $$(find src python/src tests examples bench -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inl' 2>/dev/null)

format: $(VENV)/.ready-lint
	@$(VENV)/bin/clang-format -i $(CXX_FILES)
	@$(VENV)/bin/ruff check --quiet --fix . || true
	@$(VENV)/bin/ruff format --quiet .

lint: $(VENV)/.ready-lint
	@status=0; \
	$(VENV)/bin/clang-format --dry-run --Werror $(CXX_FILES) || status=1; \
	$(VENV)/bin/ruff check . || status=1; \
	$(VENV)/bin/ruff format --check --quiet . || { echo "ruff format would change files: make format"; status=1; }; \
	$(VENV)/bin/mypy --no-error-summary || status=1; \
	$(VENV)/bin/mypy --no-error-summary tests/typing/options.py || status=1; \
	$(VENV)/bin/python tools/check_layout.py || status=1; \
	exit $$status

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis report.html
	@find src python tests tools bench examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV)
