"""Count tests in the output of node's test runner (TAP and spec), and in the TAP of other runners."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .counted import Counted

_COUNT = re.compile(r"^(?:# |ℹ )(?P<what>tests|pass|fail|cancelled|skipped|todo) (?P<count>\d{1,9})$", re.MULTILINE)
_POINT = re.compile(
    r"^(?P<indent> *)(?P<result>ok|not ok) (?P<number>\d+)?(?: -)? ?(?P<name>[^\n#]*?)"
    r"(?: # (?P<aside>(?i:skip|todo))\b[^\n]*?| # [^\n]*?)?(?P<opens> \{)?$",
    re.MULTILINE,
)
_SUBTEST = re.compile(r"^(?P<indent> *)# Subtest: (?P<name>[^\n]*)$")
_PLAN = re.compile(r"^(?:TAP version \d+|1\.\.\d+\b)", re.MULTILINE)
_SPEC = re.compile(
    r"^(?P<indent> *)(?P<mark>[✔✖▶]) (?P<name>[^\n]*?)(?: \([\d.]+ms\))?(?P<aside> # (?i:skip|todo)\b.*)?$"
)
_FILE = re.compile(r"(?:^|/)[^/\n]+\.(?:js|mjs|cjs|ts|mts|cts)$")
_FAILING = "✖ failing tests:"


def node(text: str) -> Counted | None:
    """Count the tests in summaries of `node --test`. They list a file that could not be loaded as a failing test; here
    it does not count as a test that ran.
    """
    sums: dict[str, int] = {}
    for match in _COUNT.finditer(text):
        sums[match["what"]] = sums.get(match["what"], 0) + int(match["count"])
    if "fail" not in sums:
        return None
    lines = text.splitlines()
    points = list(_spec(lines) if "ℹ tests " in text else _tap(lines))
    # If a file ended before its tests were reported, node shows one test with the name of the file.
    found = [point for point in points if point.depth or not _FILE.search(point.name)]
    files = len(points) - len(found)
    ran = sums.get("pass", sums.get("tests", 0) - sums["fail"]) + sums["fail"]
    names, failed = {point.name for point in found}, {point.name for point in found if point.is_failed}
    return Counted(ran=max(0, ran - files), failing=sums["fail"], names=sorted(names), failed=sorted(failed))


class _Result(NamedTuple):
    depth: int
    name: str
    """Full name, with those of its suites."""
    is_failed: bool


def _tap(lines: list[str]) -> Iterator[_Result]:
    """Yield each test and suite that ran."""
    path: list[str] = []
    for line in lines:
        if match := _SUBTEST.match(line):
            depth = len(match["indent"]) // 4
            path[depth:] = [match["name"]]
        elif (match := _POINT.match(line)) and not match["aside"]:
            depth = len(match["indent"]) // 4
            yield _Result(depth, " > ".join([*path[:depth], match["name"]]), match["result"] == "not ok")


def _spec(lines: list[str]) -> Iterator[_Result]:
    path: list[str] = []
    for line in lines:
        if line.startswith(_FAILING):
            return
        if match := _SPEC.match(line):
            depth = len(match["indent"]) // 2
            path[depth:] = [match["name"]]
            if match["mark"] != "▶" and not match["aside"]:
                yield _Result(depth, " > ".join(path), match["mark"] == "✖")


def tap(text: str) -> Counted | None:
    """Count the test points of the outermost level in any other runner's TAP."""
    if _COUNT.search(text) or not _PLAN.search(text):
        return None
    leaves = list(_leaves(text))
    if not leaves:
        return None
    ran = [match for match in leaves if not match["aside"]]
    names = {match["name"].strip() for match in ran} - {""}
    failed = [match["name"].strip() for match in ran if match["result"] == "not ok"]
    return Counted(ran=len(ran), failing=len(failed), names=sorted(names), failed=sorted({*failed} - {""}))


def _leaves(text: str) -> Iterator[re.Match[str]]:
    """Yield the points without subordinate points, which precede their point or follow it in braces."""
    deepest = 0
    for match in _POINT.finditer(text):
        depth = len(match["indent"])
        if depth >= deepest and not match["opens"]:
            yield match
        deepest = depth
