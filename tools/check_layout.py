"""Checks that the source tree keeps the layout of tools/layers.toml; one line for each violation, exit code 1 for any.

    python tools/check_layout.py [ROOT]

Checked: who includes whom in src/sordino (layers, and the engines' parts of one folder), what may stand only in some
places (CUDA, MPI), what some folders must not name, what must be listed, the length of files, and their names.
"""

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    try:
        import tomli as tomllib
    except ModuleNotFoundError:
        from pip._vendor import tomli as tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# Comments, with strings as the other alternative: a comment mark in a string begins no comment.
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9]+)+")
CPP_ENDINGS = {".hpp", ".cpp", ".cu", ".cuh", ".inl", ".h"}
GENERATED = {PurePosixPath("config.hpp")}  # made by the build; anyone may include it


def without_comments(text: str) -> str:
    """The code alone, line for line."""

    def blank(match: re.Match) -> str:
        token = match.group()
        return token if token.startswith('"') else "\n" * token.count("\n")

    return COMMENT.sub(blank, text)


def includes(code: str, path: PurePosixPath) -> Iterator[tuple[int, str, PurePosixPath | None]]:
    """Each #include: its line, what it says, and the path below src/sordino that it means, if one of ours."""
    for match in INCLUDE.finditer(code):
        line = code.count("\n", 0, match.end()) + 1
        said = match.group(1) or match.group(2)
        if said.startswith("sordino/"):
            yield line, said, PurePosixPath(said).relative_to("sordino")
        elif match.group(1):
            yield line, said, resolve(path.parent / said)
        else:
            yield line, said, None


def resolve(path: PurePosixPath) -> PurePosixPath:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def is_in(path: PurePosixPath, places: list[str]) -> bool:
    return any(fnmatchcase(str(path), place) for place in places)


def check_include(path: PurePosixPath, target: PurePosixPath, rules: dict) -> str | None:
    """What is wrong with `path` including `target`, both below src/sordino; None if nothing is."""
    layers = rules["layers"]
    if target in GENERATED or len(path.parts) == 1:  # a header of the whole library may include all of it
        return None
    if len(target.parts) == 1:
        return f"includes {target}, which stands above all folders"
    mine, other = path.parts[0], target.parts[0]
    if mine == other:
        for sibling in rules["siblings"]["folders"]:
            others = [name for name in rules["siblings"]["folders"] if name != sibling]
            if sibling in path.parts[1:-1] and any(name in target.parts[1:-1] for name in others):
                return f"includes {target}: the engines' parts of {mine}/ never meet"
        return None
    if other not in layers:
        return f"includes {target}, whose folder has no layer in tools/layers.toml"
    if layers[other] == layers[mine]:
        return f"includes {target}: {mine}/ and {other}/ are both of layer {layers[mine]}, and siblings never meet"
    if layers[other] > layers[mine]:
        return f"includes {target}: {mine}/ is of layer {layers[mine]}, {other}/ above it of layer {layers[other]}"
    return None


def check_source(path: PurePosixPath, text: str, rules: dict) -> Iterator[tuple[int, str]]:
    """The violations, as (line, sentence), of one C++ or CUDA file at `path` below src/sordino."""
    code = without_comments(text)
    folder = path.parts[0] if len(path.parts) > 1 else ""
    if folder and folder not in rules["layers"]:
        yield 1, f"the folder {folder}/ has no layer in tools/layers.toml"
        return
    found = list(includes(code, path))

    for line, _, target in found:
        if target is not None and (problem := check_include(path, target, rules)):
            yield line, problem

    for rule in rules["only_in"]:
        if is_in(path, rule["places"]):
            continue
        where = " or ".join(rule["places"])
        if path.suffix in rule["endings"]:
            yield 1, f"a {path.suffix} file stands only in {where}"
        for line, said, target in found:
            if target is None and re.search(rule["includes"], said):
                yield line, f"includes <{said}>, but {rule['what']} stands only in {where}"

    for rule in rules["forbidden"]:
        if rule["folder"] not in ("*", folder):
            continue
        if "includes" in rule:
            for line, said, _ in found:
                if re.search(rule["includes"], said.removeprefix("sordino/")):
                    yield line, f"includes {said}: {rule['what']}"
        for number, line in enumerate(code.split("\n"), 1):
            if not line.lstrip().startswith("#include") and (word := re.search(rule["code"], line)):
                yield number, f"says {word.group().strip()}: {rule['what']}"


def check_lists(sources: Path, rules: dict) -> Iterator[tuple[Path, str]]:
    """What is defined but not listed, and what is listed but not defined, as (file, sentence)."""
    for rule in rules["listed"]:
        folder = sources / rule["folder"]
        place = folder / rule["list"]
        lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
        listed = {line for line in lines if line and not line.startswith("#")}
        defined = {
            f"{header.stem}::{name}": header
            for header in folder.glob("*.hpp")
            for name in re.findall(rule["defines"], without_comments(header.read_text(encoding="utf-8")))
        }
        for name in sorted(defined.keys() - listed):
            yield defined[name], f"defines {name}, which {rule['folder']}/{rule['list']} does not list"
        for name in sorted(listed - defined.keys()):
            yield place, f"lists {name}, which no header of {rule['folder']}/ defines"


def files_below(root: Path, rules: dict) -> Iterator[Path]:
    for folder in rules["files"]["folders"]:
        for path in sorted((root / folder).rglob("*")):
            hidden = any(
                part.startswith(".") or part == "__pycache__" for part in path.relative_to(root).parts
            )
            if path.is_file() and path.suffix in rules["files"]["counted"] and not hidden:
                yield path


def check(root: Path) -> list[str]:
    """All violations below `root`, one line each."""
    rules = tomllib.loads((root / "tools" / "layers.toml").read_text())
    sources = root / "src" / "sordino"
    problems = []
    for path in files_below(root, rules):
        shown = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines > rules["files"]["max_lines"]:
            problems.append(
                f"{shown}: has {lines} lines, {rules['files']['max_lines']} are allowed: cut it by topic"
            )
        if not NAME.fullmatch(path.name):
            problems.append(f"{shown}: names of files are lower_snake_case")
        if path.suffix in CPP_ENDINGS and sources in path.parents:
            below = PurePosixPath(path.relative_to(sources).as_posix())
            problems += [f"{shown}:{line}: {problem}" for line, problem in check_source(below, text, rules)]
    problems += [f"{path.relative_to(root)}: {problem}" for path, problem in check_lists(sources, rules)]
    return problems


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    print(f"layout: {len(problems)} violations" if problems else "layout: every file is where it belongs")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
