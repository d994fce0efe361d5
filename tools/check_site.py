"""Checks the built documentation: links inside it lead somewhere, each page of docs/ is there, nothing is on the net.

    python tools/check_site.py build/docs [docs]

One line for each thing that is wrong, exit code 1 for any. Links to other sites are not followed.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """The links of a page, what it loads, and the places in it that links may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[int, str]] = []
        self.loads: list[tuple[int, str]] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        said = {name: value for name, value in attributes if value is not None}
        self.places |= {said[name] for name in ("id", "name") if name in said}
        line = self.getpos()[0]
        if tag == "a" and "href" in said:
            self.links.append((line, said["href"]))
        if tag in LOADED and LOADED[tag] in said:
            self.loads.append((line, said[LOADED[tag]]))


def is_elsewhere(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def check_link(site: Path, pages: dict[Path, Page], path: Path, link: str) -> str | None:
    """What is wrong with a link of the page at `path`; None if nothing is, or it leaves the site."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()) or not target.is_file():
        return f"{link} leads to no file of the site"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
        return f"{link} names a place that its page does not have"
    return None


def problems(site: Path, sources: Path | None = None) -> Iterator[str]:
    """All that is wrong with the site, one sentence each."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: holds no page"
    for path, page in pages.items():
        shown = path.relative_to(site.resolve())
        for line, link in page.links + page.loads:
            if not is_elsewhere(link) and (wrong := check_link(site, pages, path, link)):
                yield f"{shown}:{line}: {wrong}"
        for line, link in page.loads:
            if is_elsewhere(link) and not link.startswith("data:"):
                yield f"{shown}:{line}: loads {link} from the net"
    for source in sorted(sources.rglob("*.md")) if sources else []:
        built = site / source.relative_to(sources).with_suffix(".html")
        if not built.is_file():
            yield f"{source.relative_to(sources)}: has no page in the site"


def main() -> int:
    site = Path(sys.argv[1])
    sources = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent / "docs"
    found = list(problems(site, sources))
    for problem in found:
        print(problem)
    pages = len(list(site.rglob("*.html")))
    print(
        f"docs: {len(found)} problems"
        if found
        else f"docs: {pages} pages, and every link leads somewhere: {site}/index.html"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
