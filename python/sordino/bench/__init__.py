"""Benchmarks: each module has a ``SUMMARY`` and ``main(argv) -> exit code``; helpers begin with ``_``."""

from __future__ import annotations
