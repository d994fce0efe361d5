"""Small raster pictures as PNG in a data address, which needs no network, no file and nothing installed."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

#: Colours of a sequential scale from low to high, of rising lightness, and of one that diverges from zero.
SEQUENTIAL = ("#14213f", "#1f4e79", "#23808a", "#5cae7c", "#b9d36a", "#fbf3a0")
DIVERGING = ("#12427c", "#4f8fc4", "#b5d3e8", "#f4f4f2", "#f0c3a6", "#cf6d4f", "#8a1f2b")


def coloured(values: np.ndarray, stops: tuple[str, ...], low: float, high: float) -> np.ndarray:
    """RGBA of values between low and high, shape (..., 4), uint8; what is not finite is transparent."""
    knots = np.array([[int(stop[at : at + 2], 16) for at in (1, 3, 5)] for stop in stops], dtype=float)
    finite = np.isfinite(values)
    share = np.clip((np.where(finite, values, low) - low) / ((high - low) or 1.0), 0.0, 1.0)
    places = share * (len(stops) - 1)
    rgba = np.empty((*values.shape, 4), dtype=np.uint8)
    for channel in range(3):
        rgba[..., channel] = np.rint(np.interp(places, np.arange(len(stops)), knots[:, channel]))
    rgba[..., 3] = np.where(finite, 255, 0)
    return rgba


def data_uri(rgba: np.ndarray) -> str:
    """The PNG of RGBA rows from the top, shape (height, width, 4), uint8."""
    height, width, _ = rgba.shape
    rows = np.zeros((height, 1 + 4 * width), dtype=np.uint8)  # each begins with its filter, none
    rows[:, 1:] = rgba.reshape(height, 4 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))
    )
