"""Sums up a run of `make test` from the result files of ctest and pytest: what passed, and what was skipped and why.

python tools/test_summary.py build/make      reads ctest.xml, pytest.xml and sordino-features.txt there
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

CLOSING_LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SKIPPED_LINE = re.compile(r"^skipped: (?:(.+): )?(.+)$", re.MULTILINE)  # as tests/check_main.cpp prints it
SHOWN = 4  # names after each reason


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def skip(self, name: str, reason: str) -> None:
        self.reasons[reason].append(name)

    def text(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def cases(path: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(path).getroot().iter("testcase"))


def read_ctest(path: Path) -> Tally:
    """Counts the tests inside each program that closes with our line, and any other program as one test."""
    tally = Tally()
    for case in cases(path):
        name = case.get("name", "?")
        output = case.findtext("system-out") or ""
        failed = case.find("failure") is not None or case.get("status") == "fail"
        closing = CLOSING_LINE.search(output)
        if closing and name != "check_selftest":  # whose tests are meant to fail
            passed, failures, skipped = map(int, closing.groups())
            tally.passed += passed
            tally.failed += max(failures, int(failed))
            tally.skipped += skipped
            for test, reason in SKIPPED_LINE.findall(output):
                if test:
                    tally.skip(f"{name}: {test}", reason)
        elif failed:
            tally.failed += 1
        elif case.find("skipped") is not None:
            tally.skipped += 1
            reason = case.find("skipped").get("message", "")
            tally.skip(name, "the program was not built" if "not found" in reason.lower() else reason)
        else:
            tally.passed += 1
    return tally


def read_pytest(path: Path) -> Tally:
    tally = Tally()
    for case in cases(path):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed += 1
        elif skipped is not None:
            tally.skipped += 1
            tally.skip(
                f"{case.get('classname', '')}.{case.get('name', '')}",
                skipped.get("message", "no reason given"),
            )
        else:
            tally.passed += 1
    return tally


def main() -> int:
    folder = Path(sys.argv[1])
    missing = False
    total = Tally()
    for label, reader, name in (("C++", read_ctest, "ctest.xml"), ("Python", read_pytest, "pytest.xml")):
        if not (folder / name).exists():
            print(f"{label}: no {name}, the tests did not run")
            missing = True
            continue
        tally = reader(folder / name)
        print(f"{label}: {tally.text()}")
        total.passed += tally.passed
        total.failed += tally.failed
        total.skipped += tally.skipped
        for reason, names in tally.reasons.items():
            total.reasons[reason] += names

    features = folder / "sordino-features.txt"
    if features.exists():
        print(features.read_text().rstrip())
    for reason, names in sorted(total.reasons.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        print(f"skipped {len(names)}, because {reason}: {', '.join(names[:SHOWN])}{more}")
    print(total.text())
    return 1 if missing or total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
