"""Count tests in the output of jest, vitest, mocha and pest."""

from __future__ import annotations

import re
from collections import Counter

from .counted import Counted

_JEST = re.compile(
    r"^[ \t]*Tests:?[ \t]+(?P<counts>\d{1,9} (?:passed|failed|skipped|todo|pending|total)\b[^\n]*)$",
    re.MULTILINE,
)
_MARKED = re.compile(r"^(?P<indent> *)(?P<mark>[✓✔√✕×✗]|\d+\)) (?P<name>[^\n]*)$")
_TIME = re.compile(r" \(?\d+(?:\.\d+)? ?m?s\)?$")
_FILE = re.compile(r"^(?:PASS|FAIL) +(?P<path>\S+)")
_VITEST_FILE = re.compile(r"^\S+\.\w+ \(\d+ tests?")
_MOCHA = re.compile(r"^ +(?P<count>\d{1,9}) (?P<what>passing|failing)\b", re.MULTILINE)
_BULLET = re.compile(r"^  ● (?P<name>\S[^\n]*)$", re.MULTILINE)
"""A failing test of jest, above its stack. With several files, jest prints it again at the end."""
_VITEST_FAILED = re.compile(r"^ *FAIL +(?:\|[^|\n]*\| +)?(?P<name>\S+ > [^\n]*)$", re.MULTILINE)
_NOT_A_TEST = ("Console", "Test suite failed to run", "Cannot log after tests are done")


def jest(text: str) -> Counted | None:
    """Count the tests in the output of jest, vitest or pest, whose summaries are similar."""
    found = [match["counts"] for match in _JEST.finditer(text)]
    if not found:
        return None
    return Counted(
        ran=sum(_named(counts, "passed", "failed") for counts in found),
        failing=sum(_named(counts, "failed") for counts in found),
        names=sorted(_names(text)),
        failed=sorted(_failed(text)),
    )


def _named(counts: str, *names: str) -> int:
    return sum(int(n) for n, name in re.findall(r"(\d{1,9}) (\w+)", counts) if name in names)


def mocha(text: str) -> Counted | None:
    """Count the tests in mocha's output. Its spec reporter names each test, and lists failures after the summary."""
    found = list(_MOCHA.finditer(text))
    if not found:
        return None
    failing = sum(int(match["count"]) for match in found if match["what"] == "failing")
    ran = failing + sum(int(match["count"]) for match in found if match["what"] == "passing")
    return Counted(ran=ran, failing=failing, names=sorted(_names(text[: found[0].start()])))


def _failed(text: str) -> set[str]:
    """Return the names of the failing tests of jest or vitest, with their suites."""
    bullets = {match["name"].strip() for match in _BULLET.finditer(text)}
    return (bullets - {*_NOT_A_TEST}) | {match["name"].strip() for match in _VITEST_FAILED.finditer(text)}


def _names(text: str) -> set[str]:
    """Return the names on marked lines, with their file if the output has it. Equal names get numbers, because any
    indented line can be the name of a suite.
    """
    names: set[str] = set()
    seen: Counter[str] = Counter()
    file = ""
    for line in text.splitlines():
        if match := _FILE.match(line):
            file = f"{match['path']} > "
        elif (match := _MARKED.match(line)) and not _VITEST_FILE.match(match["name"]):
            name = file + _TIME.sub("", match["name"]).strip().removesuffix(":")
            seen[name] += 1
            names.add(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names
