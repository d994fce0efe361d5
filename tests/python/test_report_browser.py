"""Reports in a real browser: what is there, whether it can be seen and read, and that it asks nobody for anything."""

from __future__ import annotations

import io
import itertools
import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from sordino.cli import main

WIDTHS = {"desk": (1280, 900), "phone": (375, 812)}
#: CSS pixels of A4 between the margins of the style sheet.
PAPER = (680, 1000)
HEADINGS = ["Convergence", "The problem", "Timeline", "Communication and work", "Kernels", "This run"]

#: In the page: what is shown of the selected elements, as boxes.
SHOWN = """selector => [...document.querySelectorAll(selector)]
  .filter(e => e.getClientRects().length && e.getBoundingClientRect().width > 0)
  .map(e => { const r = e.getBoundingClientRect(); return {
      text: (e.getAttribute('aria-label') || e.textContent).trim().slice(0, 60), left: r.left, right: r.right,
      top: r.top, bottom: r.bottom, boxed: !!e.closest('.scroll') }; })"""

#: In the page: the boxes of texts of every picture that is shown, with the box of the picture.
LETTERS = """() => [...document.querySelectorAll('svg')].filter(s => s.getClientRects().length).map(s => {
  const box = e => { const r = e.getBoundingClientRect(); return {
      text: e.textContent, left: r.left, right: r.right, top: r.top, bottom: r.bottom }; };
  return { name: s.getAttribute('aria-label'), box: box(s), texts: [...s.querySelectorAll('text')].map(box) }; })"""

#: In the page: texts with less contrast to the page's colour than WCAG asks of letters of their size.
FAINT = """() => {
  const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  const page = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll('h1,h2,h3,p,li,td,th,dt,dd,figcaption,summary,footer,text')]
    .filter(e => e.getClientRects().length && e.textContent.trim())
    .map(e => { const style = getComputedStyle(e), ink = light(e.matches('text') ? style.fill : style.color);
      const [low, high] = [Math.min(ink, page), Math.max(ink, page)];
      return { text: e.textContent.trim().slice(0, 40), ratio: (high + 0.05) / (low + 0.05) }; })
    .filter(found => found.ratio < 4.5); }"""


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install 'sordino[browser]')"
    )
    with playwright.sync_playwright() as driver:
        # Containers often give no user namespaces, which the sandbox needs; the pages are our own.
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=60_000)
        yield started
        started.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A field on a grid with a described machine, and a solve that fails, of a matrix with a long name."""
    folder = tmp_path_factory.mktemp("reports")
    grid, matrix = folder / "grid.html", folder / "matrix.html"
    argv = ["poisson", "24", "20", "16", "--contrast", "100", "--solver", "prcg"]
    assert (
        main([*argv, "--engine", "model", "--machine", "summit", "--ranks", "12", "--report", str(grid)]) == 0
    )
    n = 3000
    rows = sp.diags_array([np.full(n - 7, -1.0), np.full(n, 2.5), np.full(n - 7, -1.0)], offsets=[-7, 0, 7])
    file = folder / "a_matrix_whose_name_is_longer_than_a_phone_is_wide_and_has_no_space_in_it.npz"
    sp.save_npz(file, sp.csr_array(rows))
    options = ["--engine", "host", "--ranks", "2", "--rtol", "1e-13", "--maxiter", "9", "--precond", "none"]
    assert main(["solve", str(file), *options, "--report", str(matrix)]) == 3
    lattice = folder / "lattice.html"
    assert main(["dslash", "8", "8", "4", "8", "--engine", "model", "--solve", "--report", str(lattice)]) == 0
    return {"grid": grid, "matrix": matrix, "lattice": lattice}


@pytest.fixture
def visit(browser, reports):
    """Open a report; the page keeps lists of what it asked for, and of what went wrong."""
    contexts = []

    def opened(name, size, scheme="light"):
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.wrong = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda message: page.wrong.append(message.text))
        page.goto(reports[name].as_uri(), wait_until="load")
        return page

    yield opened
    for context in contexts:
        context.close()


def overlapping(boxes):
    """Pairs of boxes that share more than a pixel in both directions."""
    return [
        (a["text"], b["text"])
        for a, b in itertools.combinations(boxes, 2)
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > 1
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 1
    ]


def check_pictures(page, least):
    pictures = page.evaluate(LETTERS)
    assert len(pictures) >= least
    for picture in pictures:
        assert picture["name"] and picture["texts"], picture["name"]
        assert overlapping(picture["texts"]) == [], picture["name"]
        box = picture["box"]
        for text in picture["texts"]:
            assert text["left"] >= box["left"] - 2 and text["right"] <= box["right"] + 2, text
            assert text["top"] >= box["top"] - 2 and text["bottom"] <= box["bottom"] + 2, text


@pytest.mark.parametrize("name", ["grid", "matrix", "lattice"])
@pytest.mark.parametrize("width", list(WIDTHS))
def test_everything_is_there_and_can_be_read(visit, name, width):
    page = visit(name, WIDTHS[width])
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert [heading["text"] for heading in page.evaluate(SHOWN, "h2")] == HEADINGS
    least = {"grid": 5, "matrix": 4, "lattice": 4}[name]  # convergence, problem, timeline, roofline
    assert len(page.evaluate(SHOWN, "svg")) == least
    check_pictures(page, least)
    for box in page.evaluate(SHOWN, "h1, h2, h3, p, li, dt, dd, th, td, svg, pre, .scroll"):
        assert box["boxed"] or (box["left"] >= -1 and box["right"] <= WIDTHS[width][0] + 1), box
    too_narrow = (
        "[...document.querySelectorAll('dt, dd')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert page.evaluate(too_narrow) == 0
    assert overlapping(page.evaluate(SHOWN, "header p, h1, dl, h2")) == []


def test_what_is_wide_scrolls_in_its_own_box(visit):
    page = visit("grid", WIDTHS["phone"])
    boxes = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.getClientRects().length)"
        ".map(e => { e.scrollLeft = 1e4; return {name: e.getAttribute('aria-label'), moved: e.scrollLeft,"
        " focusable: e.tabIndex === 0}; })"
    )
    moved = {box["name"]: box["moved"] for box in boxes}
    assert moved["timeline"] > 100 and moved["table of kernels"] > 10
    assert all(box["focusable"] for box in boxes), "the keyboard must be able to scroll it"
    assert page.evaluate("document.scrollingElement.scrollLeft") == 0


@pytest.mark.parametrize("name", ["grid", "matrix"])
def test_nothing_is_fetched_and_nothing_goes_wrong(visit, reports, name):
    page = visit(name, WIDTHS["desk"])
    page.click("summary >> nth=-1")
    assert [url for url in page.asked if not url.startswith("data:")] == [reports[name].as_uri()]
    assert page.wrong == []
    assert page.evaluate("document.scripts.length") == 0
    drawn = page.evaluate(
        "Promise.all([...document.querySelectorAll('image')].map(async e => { const i = new Image();"
        " i.src = e.getAttribute('href'); await i.decode(); return i.naturalWidth * i.naturalHeight; }))"
    )
    assert drawn and min(drawn) >= 48


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["grid", "matrix"])
def test_letters_stand_out_from_the_page(visit, name, scheme):
    page = visit(name, WIDTHS["desk"], scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.evaluate(FAINT) == []


def test_a_screen_reader_finds_its_way(visit):
    page = visit("grid", WIDTHS["desk"])
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => Number(e.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    unnamed = (
        "[...document.querySelectorAll('svg')].filter(e => e.getAttribute('role') !== 'img' || !e.ariaLabel)"
    )
    assert page.evaluate(f"{unnamed}.length") == 0
    assert page.evaluate("[...document.querySelectorAll('th')].filter(e => !e.scope).length") == 0


def test_the_timeline_tells_waits_from_what_is_hidden(visit):
    page = visit("grid", WIDTHS["desk"])
    colours = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.timeline .bar')].map(e =>"
        " [e.getAttribute('class'), getComputedStyle(e).fill]))"
    )
    kinds = {name.removeprefix("bar k-") for name in colours}
    assert {"compute", "launch", "halo", "reduction", "reduction_wait"} <= kinds
    assert len(set(colours.values())) == len(kinds), "two kinds of one colour"
    legend = page.evaluate(
        "[...document.querySelectorAll('section:has(.timeline) .legend i')].map(e => e.className)"
    )
    assert {name.removeprefix("k-") for name in legend} == kinds
    assert page.evaluate(
        "[...document.querySelectorAll('.bar')].every(e => e.querySelector('title').textContent)"
    )
    thick, thin = (
        page.evaluate(f"document.querySelector('.bar.k-{kind}').getBoundingClientRect().height")
        for kind in ("reduction_wait", "reduction")
    )
    assert thin < thick / 2


def painted(locator):
    """A screenshot's share of pixels that are not of its commonest colour, and its colours, as a set of triples."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (pip install 'sordino[report]')")
    pixels = np.asarray(image.open(io.BytesIO(locator.screenshot())).convert("RGB")).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    return 1 - counts.max() / counts.sum(), {tuple(map(int, colour)) for colour in colours}


def check_screenshots(page, least):
    pictures = page.locator("svg:visible").all()
    assert len(pictures) >= least
    for picture in pictures:
        share, colours = painted(picture)
        assert share > 0.005 and len(colours) > 8, picture.get_attribute("aria-label")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", list(WIDTHS))
@pytest.mark.parametrize("name", ["grid", "matrix", "lattice"])
def test_screenshots_show_what_is_drawn(visit, name, width, scheme):
    page = visit(name, WIDTHS[width], scheme)
    check_screenshots(page, 4)
    share, _ = painted(page.locator("body"))
    assert 0.02 < share < 0.9, "the page is blank, or covered"


def test_a_screenshot_of_the_timeline_has_the_colours_of_its_legend(visit):
    page = visit("grid", WIDTHS["desk"])
    legend = page.evaluate(
        "[...document.querySelectorAll('section:has(.timeline) .legend i')]"
        ".map(e => getComputedStyle(e).backgroundColor)"
    )
    wanted = {tuple(int(part) for part in colour[4:-1].split(",")) for colour in legend}
    _, colours = painted(page.locator(".timeline").first)
    assert len(wanted) >= 5 and wanted <= colours


def test_a_picture_that_is_not_drawn_is_noticed(visit):
    page = visit("grid", WIDTHS["desk"])
    page.evaluate("document.querySelector('svg').replaceChildren()")
    with pytest.raises(AssertionError):
        check_screenshots(page, 4)


@pytest.mark.parametrize("name", ["grid", "matrix"])
def test_on_paper(visit, name):
    page = visit(name, PAPER, "dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert not page.evaluate(SHOWN, ".at-phone")
    check_pictures(page, 4)
    for box in page.evaluate(SHOWN, "svg, td, th"):
        assert box["right"] <= PAPER[0] + 1, box
    for box in page.evaluate(SHOWN, "svg, figure"):
        assert box["bottom"] - box["top"] < PAPER[1], "a picture is higher than a page"
    whole = "[...document.querySelectorAll('svg, figure, tr')].every(e => getComputedStyle(e).breakInside === 'avoid')"
    assert page.evaluate(whole), "a picture may be cut by the end of a page"
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF") and 2 <= pdf.count(b"/Type /Page\n") <= 5


def test_these_checks_can_fail(visit):
    page = visit("matrix", WIDTHS["phone"])
    page.evaluate(
        "() => { const s = document.querySelector('.at-phone svg'), t = s.querySelector('text').cloneNode(true);"
        " s.append(t); const d = document.createElement('p'); d.textContent = 'wide';"
        " d.style = 'width: 2000px; color: #eee'; document.body.append(d); }"
    )
    assert page.evaluate("document.scrollingElement.scrollWidth > innerWidth")
    assert [found["text"] for found in page.evaluate(FAINT)] == ["wide"]
    with pytest.raises(AssertionError):
        check_pictures(page, 4)
