"""tools/check_layout.py: each of its rules must fire on a made-up tree, and must not fire on a tree that keeps it."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_layout.py"


def load_tool():
    spec = importlib.util.spec_from_file_location("check_layout", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_layout = load_tool()


@pytest.fixture
def tree(tmp_path):
    """A function that writes files, by their paths, and returns what the check says; it has the real rules."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "layers.toml", tmp_path / "tools")

    def check(files: dict[str, str]) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_layout.check(tmp_path)

    check.root = tmp_path
    return check


GOOD = {
    "src/sordino/sordino.hpp": '#include "sordino/solvers/cg.hpp"\n#include "sordino/api/solve.hpp"\n',
    "src/sordino/base/error.hpp": "#include <string>\n// mentions cuda.h and std::cout in a comment\n",
    "src/sordino/runtime/host/engine.cpp": '#include "sordino/runtime/engine.hpp"\n#include "sordino/config.hpp"\n',
    "src/sordino/runtime/cuda/engine.cu": '#include <cuda_runtime.h>\n#include "../engine.hpp"\n',
    "src/sordino/runtime/engines.cpp": '#include "host/engine.hpp"\n#include "model/engine.hpp"\n',
    "src/sordino/kernels/cuda/spmv.cuh": "#include <cub/cub.cuh>\n",
    "src/sordino/comm/transport/mpi.cpp": "#include <mpi.h>\nint snprintf_is_fine;\n",
    "src/sordino/comm/transport/nccl.cu": "#include <nccl.h>\n",
    "src/sordino/solvers/cg.cpp": '#include "sordino/linalg/operator.hpp"\nint diagonal; /* csr */\n',
    "src/sordino/solvers/cg.hpp": "struct Cg final : Method {};\n// struct Old final : Method {};\n",
    "src/sordino/solvers/methods.txt": "# one a line\n\ncg::Cg\n",
    "tests/unit/base/error.cpp": "#include <cuda_runtime.h>\n" * 400,
    "python/sordino/__init__.py": "",
}


def test_the_tree_of_this_repository_keeps_its_layout():
    assert check_layout.check(ROOT) == []


def test_a_good_tree_has_no_violation(tree):
    assert tree(GOOD) == []


BAD = [
    # upwards
    ("src/sordino/base/a.hpp", '#include "sordino/linalg/csr.hpp"', "above it of layer 3"),
    ("src/sordino/runtime/a.cpp", '#include "../comm/window.hpp"', "above it of layer 2"),
    ("src/sordino/runtime/a.cpp", "#include <sordino/api/solve.hpp>", "above it of layer 6"),
    # sideways
    ("src/sordino/kernels/a.cpp", '#include "sordino/comm/window.hpp"', "siblings never meet"),
    ("src/sordino/solvers/a.cpp", '#include "sordino/perf/model.hpp"', "siblings never meet"),
    ("src/sordino/runtime/model/a.cpp", '#include "sordino/runtime/host/fiber.hpp"', "never meet"),
    ("src/sordino/runtime/host/a.cpp", '#include "../cuda/graph.hpp"', "never meet"),
    # to where nothing is known
    ("src/sordino/base/a.hpp", '#include "sordino/sordino.hpp"', "stands above all folders"),
    ("src/sordino/api/a.hpp", '#include "sordino/misc/b.hpp"', "no layer"),
    ("src/sordino/misc/a.hpp", "", "the folder misc/ has no layer"),
    # CUDA and MPI in their places
    ("src/sordino/linalg/a.cpp", "#include <cuda_runtime.h>", "CUDA stands only in"),
    ("src/sordino/runtime/a.hpp", "#  include <cooperative_groups.h>", "CUDA stands only in"),
    ("src/sordino/comm/a.cpp", "#include <nccl.h>", "CUDA stands only in"),
    ("src/sordino/kernels/a.cu", "", "a .cu file stands only in"),
    ("src/sordino/linalg/a.cuh", "", "a .cuh file stands only in"),
    ("src/sordino/comm/transport/peer.cpp", "#include <mpi.h>", "MPI stands only in"),
    # solvers
    ("src/sordino/solvers/a.cpp", '#include "sordino/linalg/csr.hpp"', "no matrix format and no device"),
    (
        "src/sordino/solvers/a.cpp",
        '#include "sordino/linalg/csr_operator.hpp"',
        "no matrix format and no device",
    ),
    (
        "src/sordino/solvers/a.cpp",
        '#include "sordino/runtime/host/engine.hpp"',
        "no matrix format and no device",
    ),
    ("src/sordino/solvers/a.cpp", "void f(const CsrMatrix& A);", "says CsrMatrix"),
    ("src/sordino/solvers/a.cpp", "cudaStreamSynchronize(s);", "says cudaStreamSynchronize"),
    (
        "src/sordino/solvers/a.hpp",
        "struct A final : Method {};",
        "defines a::A, which solvers/methods.txt does not list",
    ),
    (
        "src/sordino/solvers/b.hpp",
        "struct B final : BeforeClassic {};",
        "defines b::B, which solvers/methods.txt does not list",
    ),
    ("src/sordino/solvers/methods.txt", "a::A", "lists a::A, which no header of solvers/ defines"),
    # habits
    ("src/sordino/base/a.cpp", 'std::printf("%d", 1);', "never writes to stdout"),
    ("src/sordino/base/a.cpp", '  std::cout << "x";', "never writes to stdout"),
    ("src/sordino/base/a.cpp", "#ifdef SORDINO_WITH_CUDA", "ask #if, not #ifdef"),
    ("src/sordino/base/a.cpp", "#if defined(SORDINO_WITH_MPI)", "ask #if, not #ifdef"),
    # length and names
    ("src/sordino/base/a.hpp", "\n" * 401, "has 401 lines"),
    ("tests/unit/a.cpp", "\n" * 401, "has 401 lines"),
    ("python/sordino/a.py", "x = 1\n" * 400 + "y = 2", "has 401 lines"),
    ("src/sordino/base/myFile.hpp", "", "lower_snake_case"),
    ("tests/python/test-a.py", "", "lower_snake_case"),
]


@pytest.mark.parametrize(("path", "text", "sentence"), BAD)
def test_each_rule_fires_once_and_names_the_file(tree, path, text, sentence):
    problems = [
        problem for problem in tree({path: text + "\n" if "\n" not in text else text}) if sentence in problem
    ]
    assert len(problems) == 1
    assert problems[0].startswith(path + ":")


def test_a_violation_is_reported_at_its_line(tree):
    text = '// one\n/* two\n   #include "sordino/api/not.hpp" */\n#include "sordino/api/solve.hpp"\n'
    problems = tree({"src/sordino/base/a.hpp": text})
    assert len(problems) == 1
    assert problems[0].startswith("src/sordino/base/a.hpp:4: ")


def test_the_command_prints_a_line_for_each_violation_and_exits_with_1(tree):
    tree({"src/sordino/base/a.hpp": '#include "sordino/api/solve.hpp"\n', "src/sordino/base/B.hpp": ""})
    run = subprocess.run([sys.executable, TOOL, tree.root], capture_output=True, text=True)
    assert run.returncode == 1
    assert len(run.stdout.splitlines()) == 3
    assert run.stdout.splitlines()[-1] == "layout: 2 violations"


def test_the_command_exits_with_0_on_a_good_tree(tree):
    tree(GOOD)
    run = subprocess.run([sys.executable, TOOL, tree.root], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
