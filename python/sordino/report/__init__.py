"""Reports: the record of a solve, and its faces (words, HTML, trace)."""

from __future__ import annotations

from .record import Recovery, Report

__all__ = ["Recovery", "Report"]
