"""The matrices of paper 000, as they are here."""

from __future__ import annotations

from dataclasses import dataclass

from ._outlines import Structure

#: What the printed values stand for (notes on Fig. 3): the text's 1e-3 would make half of them.
EPS = 1e-6


@dataclass(frozen=True)
class Matrix:
    """One of the paper's: what it is here, and what the paper has of it."""

    structure: Structure
    rate: float  # flop/s of a product on one P100, Fig. 9, variable batches and 3 streams, or those of one like it
    printed: float | None = None  # in Fig. 3, a tenth of its values over n log2 n


def of(surface: str, rate: float, printed: float | None = None, every: int = 1) -> Matrix:
    """Of whose blocks one in so many is compressed."""
    return Matrix(Structure(surface, EPS, every), 1e9 * rate, printed)


def of_rank_one(surface: str, printed: float) -> Matrix:
    """Whose blocks need not be compressed to know their ranks."""
    return Matrix(Structure(surface, EPS, 1 << 30, most_rank=1), 86.14e9, printed)


#: Spheres have the paper's numbers of triangles; other ones would, too, but for 10ts and 100ts, which are known. The
#: figures are ours, of as many triangles as the paper's humanoids.
MATRICES = {
    "10ts": of("sphere:13,20", 84.13),
    "216h": of("pair:6,30", 84.13),
    "100ts": of("sphere:25,45", 84.13, 16.0),
    "288ts": of("sphere:10,120", 86.14, 16.7, every=8),
    "338ts": of("sphere:10,130", 86.14, 16.9, every=8),
    "1ms": of("sphere:62,90", 86.14, 17.6, every=32),
    "8ms": of_rank_one("sphere:204,140", 1.7),
    "hum2": of("figure:2", 72.20, 17.3, every=4),
    "hum4": of("figure:4", 72.20, 22.9, every=16),
    "hum6": of("figure:6", 96.87, 31.7, every=32),
}

PRINTED = [name for name, matrix in MATRICES.items() if matrix.printed is not None]
