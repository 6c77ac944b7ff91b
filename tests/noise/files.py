"""Real source files of several languages, in several layouts."""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LONGEST = 400
"""Rows of a file that are used."""
_PER_SUFFIX = 150
_SUFFIXES = (
    ".py",
    ".js",
    ".css",
    ".html",
    ".md",
    ".toml",
    ".yaml",
    ".json",
    ".h",
    ".c",
    ".sh",
    ".rst",
    ".txt",
    ".tcss",
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Source:
    """The rows of a file and the ending of each; the last may have none."""

    name: str
    rows: list[str]
    ends: list[str]
    layout: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def data(self) -> bytes:
        """The bytes of the file."""
        return self.mark + "".join(map("".join, zip(self.rows, self.ends, strict=True))).encode(self.encoding)


def split(text: str) -> tuple[list[str], list[str]]:
    """The rows of a text, and their endings."""
    found = _LINE.findall(text)
    rows = [line.rstrip("\r\n") for line in found]
    return rows, [line[len(row) :] for line, row in zip(found, rows, strict=True)]


@cache
def paths() -> tuple[tuple[Path, ...], ...]:
    """Files of the standard library and the installed packages, grouped by language.

    Files of this repository would give each commit another sample.
    """
    purelib, stdlib = Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))
    groups: list[tuple[Path, ...]] = []
    for suffix in _SUFFIXES:
        found = [
            *stdlib.glob(f"*{suffix}"),
            *(purelib.rglob(f"*{suffix}") if suffix != ".py" else ()),
        ]
        plain = sorted(path for path in found if path.is_file() and 400 < path.stat().st_size < 200_000)
        if plain:
            groups.append(tuple(random.Random(suffix).sample(plain, min(_PER_SUFFIX, len(plain)))))
    makefile = Path(sysconfig.get_makefile_filename())
    return (*groups, (makefile,)) if makefile.is_file() else tuple(groups)


@cache
def _rows(path: Path) -> tuple[str, ...] | None:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    rows = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")
    if "\0" in text or max(map(len, rows)) > 1500 or sum(bool(row.strip()) for row in rows) < 12:
        return None
    return tuple(rows[:-1] if rows[-1] == "" else rows)


def source(rng: random.Random, wish: str | None = None) -> Source:
    """A part of a real file in the wished layout, or in one that the generator draws."""
    groups = paths()
    while True:
        path = rng.choice(groups[0] if rng.random() < 0.4 else rng.choice(groups))
        rows = _rows(path)
        if rows is not None:
            break
    start = rng.randrange(max(1, len(rows) - LONGEST))
    layout = wish or rng.choices([*LAYOUTS], [weight for weight, _ in LAYOUTS.values()])[0]
    return LAYOUTS[layout][1](rng, path.name, list(rows[start : start + LONGEST]), layout)


def _ended(end: str) -> Callable[[random.Random, str, list[str], str], Source]:
    return lambda rng, name, rows, layout: Source(name, rows, [end] * len(rows), layout)


def _mixed(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    ends = rng.choice([["\n", "\r\n"], ["\n", "\n", "\n", "\r\n"], ["\r\n", "\r\n", "\n"], ["\n", "\r\n", "\r"]])
    drawn = [rng.choice(ends) for _ in rows]
    for k, row in enumerate(rows[1:], 1):  # CR and LF next to each other are one CRLF
        if not row and drawn[k - 1] == "\r" and drawn[k] == "\n":
            drawn[k] = "\r\n"
    return Source(name, rows, drawn, layout)


def _open_end(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    rows = rows[: rng.randrange(12, 40)] if len(rows) > 12 else rows
    while not rows[-1]:
        rows.pop()
    end = rng.choice(["\n", "\n", "\r\n"])
    return Source(name, rows, [end] * (len(rows) - 1) + [""], layout)


def _marked(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    return Source(name, rows, ["\n"] * len(rows), layout, mark=b"\xef\xbb\xbf")


def _western(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    rows = [row.encode("cp1252", "ignore").decode("cp1252") for row in rows]
    rows = [f"{row} Gr\xf6\xdfe caf\xe9" if rng.random() < 0.2 and row else row for row in rows]
    return Source(name, ["\xe4", *rows], ["\n"] * (len(rows) + 1), layout, encoding="cp1252")


def _typographic(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    table = str.maketrans({"'": "\u2019", '"': "\u201c", "-": "\u2014"})
    return _laced(rng, name, rows, layout, lambda row: row.translate(table))


def _hard_spaces(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    def lace(row: str) -> str:
        body = row.lstrip()
        return row[: len(row) - len(body)] + body.replace(" ", "\xa0", 1)

    return _laced(rng, name, rows, layout, lace)


def _trailing(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    return _laced(rng, name, rows, layout, lambda row: row + rng.choice([" ", "  ", "\t", "    "]))


def _separators(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    return _laced(rng, name, rows, layout, lambda row: row + rng.choice(["\u2028x", "\x0c", "\x85", "\x0b y", "\x1c"]))


def _tabs(rng: random.Random, name: str, rows: list[str], layout: str) -> Source:
    unit = 2 if any(re.match(r"  \S", row) for row in rows) else 4
    rows = [re.sub(r"^ +", lambda found: "\t" * (len(found[0]) // unit), row) for row in rows]
    return Source(name, rows, ["\n"] * len(rows), layout)


def _laced(rng: random.Random, name: str, rows: Sequence[str], layout: str, lace: Callable[[str], str]) -> Source:
    drawn = [lace(row) if rng.random() < 0.3 else row for row in rows]
    return Source(name, drawn, ["\n"] * len(rows), layout)


LAYOUTS: dict[str, tuple[int, Callable[[random.Random, str, list[str], str], Source]]] = {
    "LF": (40, _ended("\n")),
    "CRLF": (12, _ended("\r\n")),
    "CR": (2, _ended("\r")),
    "mixed": (16, _mixed),
    "no last newline": (8, _open_end),
    "byte order mark": (2, _marked),
    "cp1252": (3, _western),
    "typographic": (3, _typographic),
    "hard spaces": (2, _hard_spaces),
    "trailing": (6, _trailing),
    "separators": (3, _separators),
    "tabs": (8, _tabs),
}
