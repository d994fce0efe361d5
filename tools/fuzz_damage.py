"""Damage for tools/fuzz_readers.py: to bytes, lines, numbers and words of headers."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


def _split(words: str) -> list[str]:
    return words.split()


#: What takes the place of a number.
NUMBERS = (
    *_split("0 -0 -1 1 2 3 7 1.5 -1e5 1e400 -1e-400 nan NaN -inf Infinity 1e 1e+ .e1 . - + 1..2 1e2.5 0x10 1_0 1,5"),
    *_split("1D3 1.5d-3 1.5+10 1E99999999999 5e-324 1.7976931348623157e308 2147483647 2147483648 4294967296 1e12"),
    *_split("9223372036854775807 9223372036854775808 99999999999999999999 1000000000000 1099511627775 -4 1048576"),
    *("", "9" * 400, "9" * 4300, "9" * 5000, "0." + "3" * 300, "\u0663", "\u00b2", "true", "\x00", "1 2", "\t"),
)  # fmt: skip
#: What takes the place of a word of a header.
WORDS = (
    *_split("matrix vector coordinate array real integer complex pattern double unsigned-integer general symmetric"),
    *_split("skew-symmetric hermitian quaternion RUA RSA CSA CHA PUA RZA RUE (16I5) (10I8) (4E20.12) (1P,4D20.12)"),
    *_split("(5000I5) (16I0) (16I64) (1I9999999999) (999999999P4E20.12) (-400P4E20.12) (400PE20.12) (4F20.300)"),
    *_split("(4E20.12E3) (3Q7) (I5 (4G64.64) F FGX M %%MatrixMarket %%matrixmarket %"),
    *("", "\ufeff", "\x1b[31m", "\r", "\x85", "\u2028", "x" * 300, "w" * 3000, "\u00e9" * 40),
)  # fmt: skip


@dataclass(frozen=True)
class Input:
    """The content of a file, its ending, how it is read (matrix, vector, ...), and whether it must be accepted."""

    content: bytes
    suffix: str
    use: str
    valid: bool


def _spot(random: Random, count: int) -> int:
    """A place among `count`, half of the time one of the first, where headers are."""
    return random.randrange(min(count, 5) if random.random() < 0.5 else count)


def _bytes_changed(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 5)):
        at = random.randrange(len(changed))
        changed[at] = (
            changed[at] ^ (1 << random.randrange(8)) if random.random() < 0.5 else random.randrange(256)
        )
    return bytes(changed)


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data))]


def _part_repeated(random: Random, data: bytes) -> bytes:
    first, last = sorted((random.randrange(len(data)), random.randrange(len(data))))
    times = 1 if last - first > 2000 else random.choice((1, 1, 50))
    return data[:last] + data[first:last] * times + data[last:]


def _part_left_out(random: Random, data: bytes) -> bytes:
    first = random.randrange(len(data))
    return data[:first] + data[first + random.randint(1, 12) :]


def _lines_moved(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at, other = _spot(random, len(lines)), _spot(random, len(lines))
    way = random.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, lines[other])
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at] = lines[at] * (2 if len(lines[at]) > 2000 else random.choice((2, 2, 500)))
    else:
        lines.insert(at, random.choice((b"", b" " * 5000, b"%", b"\r", b"% " + b"c" * 2000, b"\x00")))
    return b"\n".join(lines)


def _word_replaced(random: Random, data: bytes, words: tuple[str, ...]) -> bytes:
    """A word replaced by another, at times kept to its columns, as fields of fixed width need it."""
    lines = data.split(b"\n")
    at = _spot(random, len(lines))
    found = lines[at].split()
    if not found:
        return data
    old, new = random.choice(found), random.choice(words).encode("utf-8", "surrogatepass")
    start = lines[at].index(old)
    before, after = lines[at][:start], lines[at][start + len(old) :]
    if random.random() < 0.7 and len(new) > len(old):
        before = before[: max(0, len(before) - (len(new) - len(old)))]
    lines[at] = before + new.rjust(len(old)) + after
    return b"\n".join(lines)


def _number_replaced(random: Random, data: bytes) -> bytes:
    return _word_replaced(random, data, NUMBERS)


def _header_replaced(random: Random, data: bytes) -> bytes:
    return _word_replaced(random, data, WORDS)


def _ends_changed(random: Random, data: bytes) -> bytes:
    return data.replace(b"\n", random.choice((b"\r\n", b"\r", b" \n", b"\n\n", b"\t", b"\x0c\n")))


BINARY = (_bytes_changed, _bytes_changed, _cut, _part_repeated, _part_left_out)
TEXT = (
    *BINARY,
    _lines_moved,
    _lines_moved,
    _number_replaced,
    _number_replaced,
    _header_replaced,
    _ends_changed,
)


def damaged(random: Random, data: bytes, ways: tuple[Callable[[Random, bytes], bytes], ...]) -> bytes:
    """The data after one to four of the ways."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        data = random.choice(ways)(random, data) if data else data
    return data


def as_file(random: Random, text: str, suffix: str, *, use: str = "matrix", good: bool = True) -> Input:
    """A text as a file: sound once in 40 times, else damaged, compressed at times and the archive damaged, too."""
    data, sound = text.encode("utf-8", "surrogatepass"), random.random() < 0.025
    packed = random.random() < 0.15
    if not sound and not (packed and random.random() < 0.3):
        data = damaged(random, data, TEXT)
    if packed:
        data, suffix = gzip.compress(data, compresslevel=1, mtime=0), suffix + ".gz"
        if not sound and random.random() < 0.5:
            data = damaged(random, data, BINARY)
    return Input(data, suffix, use, sound and good)
