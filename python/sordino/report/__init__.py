"""Reports: the record of a solve, and its faces (words, HTML, trace)."""

from __future__ import annotations

from .record import Report

__all__ = ["Report"]
