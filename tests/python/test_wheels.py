"""Libraries that wheels bring."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from sordino import _wheels


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """An environment whose packages lie in a folder of the test's own."""
    monkeypatch.delenv(_wheels.NVSHMEM_WORD, raising=False)
    monkeypatch.setattr(_wheels.sysconfig, "get_path", lambda name: str(tmp_path))
    folder = tmp_path / "nvidia" / "nvshmem" / "lib"
    folder.mkdir(parents=True)
    yield folder
    os.environ.pop(_wheels.NVSHMEM_WORD, None)


def test_a_library_is_found_in_its_wheel_or_left_to_the_loader(environment):
    assert _wheels.library("nvshmem", _wheels.NVSHMEM) == ""
    _wheels.show_nvshmem()
    assert _wheels.NVSHMEM_WORD not in os.environ
    (environment / _wheels.NVSHMEM).touch()
    assert _wheels.library("nvshmem", _wheels.NVSHMEM) == str(environment / _wheels.NVSHMEM)
    assert _wheels.library("nccl", "libnccl.so.2") == ""


def test_the_core_is_told_where_nvshmem_is_unless_the_user_has_said(environment, monkeypatch):
    (environment / _wheels.NVSHMEM).touch()
    _wheels.show_nvshmem()
    assert os.environ[_wheels.NVSHMEM_WORD] == str(environment / _wheels.NVSHMEM)
    monkeypatch.setenv(_wheels.NVSHMEM_WORD, "another")
    _wheels.show_nvshmem()
    assert os.environ[_wheels.NVSHMEM_WORD] == "another"


def test_the_version_is_what_the_library_says(environment):
    (environment / _wheels.NVSHMEM).write_text("no library")
    assert _wheels.nvshmem_version() is None
    compiler = shutil.which("cc") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C compiler")
    source = environment / "fake.c"
    words = "(int *a, int *b, int *c) { *a = 3; *b = 4; *c = 5; }\n"
    source.write_text("void nvshmemx_vendor_get_version_info" + words)
    subprocess.run(
        [compiler, "-x", "c", "-shared", "-fPIC", "-o", str(environment / _wheels.NVSHMEM), str(source)],
        check=True,
    )
    assert _wheels.nvshmem_version() == "3.4.5"
