"""Makes the docs' picture of a charge: solves for that of a mesh at 1 V, and draws it from two sides.

    python tools/picture_of_charge.py homer.obj [docs/pictures/homer.png]

Needs Sordino with the extras `bem` and `report`. The mesh is read with y upwards, as programs that draw write it.
"""

import base64
import io
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize

import sordino
from sordino.report.surface_view import _limits, surface_view

MOST_BYTES = 150_000


def views(found: sordino.Charge) -> list[np.ndarray]:
    """Pixels of what a report draws of it, from the front and from behind."""
    images = []
    for azimuth in (60.0, 240.0):
        drawing = surface_view(
            found.surface.corners, found.density, "", "", azimuth=azimuth, upwards="y"
        ).drawing
        encoded = re.search(r"data:image/png;base64,([^\"']+)", drawing)
        assert encoded is not None
        images.append(plt.imread(io.BytesIO(base64.b64decode(encoded[1]))))
    return images


def main() -> int:
    """Solve, draw, and say how large the picture is."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    picture = Path(sys.argv[2] if len(sys.argv) > 2 else "docs/pictures/homer.png")
    surface = sordino.read_surface(sys.argv[1])
    found = sordino.bem(surface, potential=1.0, eps=1e-4, rtol=1e-8, precond="block-jacobi", engine="host")
    print(f"{surface.name}: {found.charge[0] / (4 * np.pi * 8.8541878188e-12):.6f} over 4 pi eps0")
    plt.rcParams.update({"font.size": 9})
    figure, panels = plt.subplots(1, 2, figsize=(7, 4.2), layout="constrained")
    for axes, title, image in zip(panels, ("from the front", "from behind"), views(found), strict=True):
        axes.imshow(image)
        axes.set_axis_off()
        axes.set_title(title, fontsize=9)
    least, most, stops = _limits(found.density)
    colours = ScalarMappable(
        Normalize(1e12 * least, 1e12 * most), LinearSegmentedColormap.from_list("charge", stops)
    )
    figure.colorbar(colours, ax=panels, shrink=0.6, label="charge density at 1 V, pC/m²", extend="both")
    figure.savefig(picture, dpi=110, metadata={"Software": None}, pil_kwargs={"optimize": True})
    size = picture.stat().st_size
    print(f"{picture}: {size:,} bytes")
    return int(size > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
