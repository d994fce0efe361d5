"""The built documentation is made without a warning, and tools/check_site.py finds what is wrong with a site."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_site.py"
SPHINX = all(importlib.util.find_spec(name) for name in ("sphinx", "myst_parser", "furo"))
needs_sphinx = pytest.mark.skipif(
    not SPHINX, reason="needs Sphinx, MyST and furo: `make docs` brings them, builds the site and checks it"
)


def load_tool():
    spec = importlib.util.spec_from_file_location("check_site", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_site = load_tool()
GOOD = {
    "index.html": '<h1 id="top">T</h1><a href="a/b.html#here">b</a><a href="#top">t</a><a href="https://x.org/y">y</a>',
    "a/b.html": '<p id="here"></p><a href="../index.html">up</a><a href="../">up</a><img src="../p.svg">',
    "p.svg": "<svg/>",
}


@pytest.fixture
def site(tmp_path):
    """A function that writes a site and its sources, and returns what the check says."""

    def check(files: dict[str, str], sources: tuple[str, ...] = ()) -> list[str]:
        for name, text in files.items():
            path = tmp_path / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in sources:
            path = tmp_path / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("# T\n")
        return list(check_site.problems(tmp_path / "site", tmp_path / "docs"))

    return check


def test_a_good_site_has_no_problem(site):
    assert site(GOOD, ("index.md", "a/b.md")) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('<a href="no.html">', "no.html leads to no file"),
        ('<a href="a/b.html#there">', "#there names a place that its page does not have"),
        ('<a href="#there">', "#there names a place"),
        ('<a href="../../etc">', "leads to no file of the site"),
        ('<img src="q.svg">', "q.svg leads to no file"),
        ('<script src="https://cdn.x.org/m.js"></script>', "loads https://cdn.x.org/m.js from the net"),
        ('<link rel="stylesheet" href="//x.org/s.css">', "loads //x.org/s.css from the net"),
    ],
)
def test_each_kind_of_fault_is_found_once(site, text, sentence):
    found = site({**GOOD, "bad.html": f"\n{text}"})
    assert len(found) == 1 and sentence in found[0] and found[0].startswith("bad.html:2: ")


def test_a_source_without_a_page_is_found(site):
    assert site(GOOD, ("index.md", "lost.md")) == ["lost.md: has no page in the site"]


def test_the_command_says_so_and_exits_with_1(site, tmp_path):
    site({"index.html": '<a href="no.html">'}, ("index.md",))
    command = [sys.executable, TOOL, tmp_path / "site", tmp_path / "docs"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout.splitlines()[-1] == "docs: 1 problems"
    site({"index.html": '<a href="index.html">'})
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0 and "1 pages" in run.stdout


@needs_sphinx
@pytest.mark.slow
def test_the_site_is_made_without_a_warning_and_holds_every_page(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    folders = ["-d", tmp_path / "trees", ROOT / "docs", tmp_path / "site"]
    made = subprocess.run([*command, *folders], capture_output=True, text=True)
    assert made.returncode == 0 and made.stderr == "", made.stderr
    assert list(check_site.problems(tmp_path / "site", ROOT / "docs")) == []
