"""Count tests of runners whose summary one regular expression can read: one row per format."""

from __future__ import annotations

import re
from typing import NamedTuple

from .counted import Counted


class Summary(NamedTuple):
    """A runner's summary line. Its groups are `total` or `passed`, and any of `failed`, `errors` and `skipped`."""

    runner: str
    line: str
    name: str = ""
    """Pattern of the line of one test that ran, with the group `name`."""
    is_last: bool = False
    """Whether only the last such line counts, because outer suites repeat the numbers of inner ones."""


SUMMARIES = (
    Summary("phpunit", r"^OK \((?P<total>\d{1,9}) tests?, \d+ assertions?\)$"),
    Summary(
        "phpunit",
        r"^Tests: (?P<total>\d{1,9}), Assertions: \d+(?:, Errors: (?P<errors>\d{1,9}))?"
        r"(?:, Failures: (?P<failed>\d{1,9}))?"
        r"(?:, (?:\w+ )?(?:Warnings|Deprecations|Notices): \d+)*(?:, Skipped: (?P<skipped>\d{1,9}))?[^\n]*\.$",
    ),
    Summary(
        "rspec",
        r"^(?P<total>\d{1,9}) examples?, (?P<failed>\d{1,9}) failures?(?:, (?P<skipped>\d{1,9}) pending)?"
        r"(?:, (?P<errors>\d{1,9}) errors? occurred outside of examples)?$",
    ),
    Summary(
        "minitest",
        r"^(?P<total>\d{1,9}) (?:runs|tests), \d+ assertions, (?P<failed>\d{1,9}) failures, (?P<errors>\d{1,9}) errors"
        r"(?:, (?P<skipped>\d{1,9}) (?:skips|pendings))?[^\n]*$",
    ),
    Summary(
        "dotnet",
        r"^(?:Passed|Failed|Skipped)! +- Failed: +(?P<failed>\d{1,9}), Passed: +\d+, Skipped: +(?P<skipped>\d{1,9}),"
        r" Total: +(?P<total>\d{1,9}),[^\n]*$",
        r"^ +(?:Passed|Failed) (?P<name>\S.*?) \[[^\]\n]*\]$",
    ),
    Summary(
        "surefire",
        r"^(?:\[\w+\] +)?Tests run: (?P<total>\d{1,9}), Failures: (?P<failed>\d{1,9}), Errors: (?P<errors>\d{1,9}),"
        r" Skipped: (?P<skipped>\d{1,9})$",
    ),
    Summary(
        "ctest",
        r"^\d+% tests passed, (?P<failed>\d{1,9}) tests? failed out of (?P<total>\d{1,9})$",
        r"^ *\d+/\d+ Test +#\d+: (?P<name>\S+) \.+(?:   Passed|\*\*\*(?!Not Run|Skipped))",
    ),
    Summary(
        "googletest",
        r"^\[  PASSED  \] (?P<passed>\d{1,9}) tests?\.(?:\n(?:\[  SKIPPED \][^\n]*\n)*)?"
        r"(?:\[  FAILED  \] (?P<failed>\d{1,9}) tests?, listed below:)?",
        r"^\[ +(?:OK|FAILED) +\] (?P<name>\S+?)(?:, where [^\n]*)? \(\d+ ms\)$",
    ),
    Summary(
        "deno", r"^(?:ok|FAILED) \| (?P<passed>\d{1,9}) passed(?: \([^)\n]*\))? \| (?P<failed>\d{1,9}) failed\b[^\n]*$"
    ),
    Summary(
        "bun",
        r"^ *(?P<passed>\d{1,9}) pass\n(?: *\d+ (?:skip|todo)\n)* *(?P<failed>\d{1,9}) fail$",
        r"^\((?:pass|fail)\) (?P<name>[^\n]*?)(?: \[[\d.]+m?s\])?$",
    ),
    Summary(
        "xctest",
        r"^[ \t]+Executed (?P<total>\d{1,9}) tests?, with (?:(?P<skipped>\d{1,9}) tests? skipped and )?"
        r"(?P<failed>\d{1,9}) failures? \(\d+ unexpected\)[^\n]*$",
        r"^Test Case '(?P<name>[^'\n]+)' (?:passed|failed) \([^\n]*$",
        is_last=True,
    ),
    Summary(
        "exunit",
        r"^(?:\d+ doctests?, )?(?P<total>\d{1,9}) tests?, (?P<failed>\d{1,9}) failures?"
        r"(?:, (?P<skipped>\d{1,9}) skipped)?$",
    ),
)
_COMPILED = [(row, re.compile(row.line, re.MULTILINE), re.compile(row.name, re.MULTILINE)) for row in SUMMARIES]


def summarised(text: str) -> list[Counted]:
    """Return the counts that each row of the table finds in the text."""
    found: list[Counted] = []
    for row, line, name in _COMPILED:
        matches = list(line.finditer(text))
        if row.is_last:
            matches = matches[-1:]
        if matches:
            names = {match["name"] for match in name.finditer(text)} if row.name else set[str]()
            failing = sum(_number(match, "failed") + _number(match, "errors") for match in matches)
            found.append(Counted(ran=sum(map(_ran, matches)), failing=failing, names=sorted(names)))
    return found


def _ran(match: re.Match[str]) -> int:
    if "total" in match.groupdict():
        return max(0, _number(match, "total") - _number(match, "skipped"))
    return _number(match, "passed") + _number(match, "failed")


def _number(match: re.Match[str], group: str) -> int:
    return int(match.groupdict().get(group) or 0)
