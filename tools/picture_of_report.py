"""Makes the docs' picture of a report: solves a problem on a described machine, and photographs the page in Chromium.

    python tools/picture_of_report.py [docs/pictures/report.png]

Needs Sordino, playwright (the extra `browser`), Pillow (comes with matplotlib, the extra `report`) and Chromium.
The machine is described, and the picture the same wherever it is made, but for the fonts that the system has.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from sordino.cli import main as sordino

PROBLEM = ["poisson", "48", "48", "48", "--contrast", "1000", "--solver", "prcg"]
RUN = ["--engine", "model", "--machine", "h200x4", "--ranks", "4"]
WIDTH, SCALE, MOST_BYTES = 1000, 1.6, 300_000
LAST_SHOWN = ".words"  # the picture ends below the ledger in words


def photograph(report: Path, picture: Path) -> None:
    """The upper part of the page, as a PNG of 256 colours, which is a third as large as one of all."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        sys.exit("picture_of_report: there is no Chromium here (Debian: apt-get install chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=SCALE)
        page.goto(report.resolve().as_uri())
        end = page.evaluate(f"document.querySelector('{LAST_SHOWN}').getBoundingClientRect().bottom") + 8
        area = {"x": 0, "y": 0, "width": WIDTH, "height": end}
        page.screenshot(path=picture, full_page=True, clip=area)
        browser.close()
    with Image.open(picture) as shot:
        shot.convert("RGB").quantize(256, kmeans=2, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> int:
    """Solve, photograph, and say how large the picture is."""
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/report.png")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        if sordino([*PROBLEM, *RUN, "--report", str(report)]) != 0:
            return 1
        photograph(report, picture)
    size = picture.stat().st_size
    print(f"{picture}: {size:,} bytes")
    if size > MOST_BYTES:
        print(f"picture_of_report: that is more than {MOST_BYTES:,}: make it smaller", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
