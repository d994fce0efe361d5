"""Surfaces for boundary elements: triangles with potentials, and shapes to try things with.

Coordinates are in metres, potentials in volts. Files are read by :func:`sordino.io.read_surface`.
"""

from __future__ import annotations

from .figure import figure
from .shapes import pair, plate, sphere, spheres
from .surface import Surface
from .words import from_words

__all__ = ["Surface", "figure", "from_words", "pair", "plate", "sphere", "spheres"]
