"""Count tests in the output of pytest and unittest."""

from __future__ import annotations

import re

from .counted import Counted

_WORDS = "failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests [a-z]+"
_SUMMARY = re.compile(
    rf"^=* *(?:(?P<counts>(?:\d{{1,9}} (?:{_WORDS})(?:, )?)+)|no tests ran)"
    r" in [\d.]+s?(?: \([\d:]+\))? *=*$",
    re.MULTILINE,
)
_MARKS = re.compile(r"^(?:\S+\.\w+ )?(?P<marks>[.FEsxXR]+)(?: +\[ *(?P<percent>\d{1,3})%\])?$", re.MULTILINE)
_SHOWN = re.compile(r"^(?:\S+\.\w+ )?(?P<marks>[.FEsxXR]+)", re.MULTILINE)
"""Like `_MARKS`, but text that a test printed may follow the mark."""
_VERBOSE = re.compile(r"^(?P<name>\S[^\n]*) (?P<result>PASSED|FAILED|ERROR|XPASS)\b", re.MULTILINE)
_WORKER = re.compile(r"^\[gw\d+\] \[ *\d+%\] (?P<result>PASSED|FAILED|ERROR|XPASS) (?P<name>\S[^\n]*)$", re.MULTILINE)
_SHORT = re.compile(r"^(?P<result>PASSED|FAILED|ERROR|XPASS) (?P<name>\S[^\n]*)$", re.MULTILINE)
_SETUP = re.compile(r"^_+ ERROR at setup of .+ _+$", re.MULTILINE)
_NOT_STARTED = re.compile(
    r"^(?:ImportError while loading conftest |INTERNALERROR> "
    r"|ERROR: (?:file or directory not found|usage: |not found: )"
    r"|(?:\w+\.)*ConftestImportFailure: )",
    re.MULTILINE,
)
_RAN = re.compile(r"^Ran (?P<ran>\d{1,9}) tests? in [\d.]+s$", re.MULTILINE)
_END = re.compile(
    r"^(?:FAILED \((?P<counts>[^)]*)\)|OK(?: \((?P<ok>[^)]*)\))?|(?P<none>NO TESTS RAN)(?: \((?P<no>[^)]*)\))?)$",
    re.MULTILINE,
)
_FAILED = re.compile(r"^FAIL: (?P<test>\w+) \((?P<place>[\w.]+)\)", re.MULTILINE)
_UNLOADED = re.compile(r"^ERROR: \S+ \(unittest\.loader\._FailedTest", re.MULTILINE)
_STARTED = re.compile(r"^(?P<test>\w+) \((?P<place>[\w.]+)\)(?: \[[^\n]*\])?(?: \.\.\. (?P<rest>[^\n]*))?$")
_RESULT = re.compile(r"(?:^|\.\.\. )(?P<aside>skipped\b.*|expected failure)$|(?:ok|FAIL|ERROR|unexpected success)$")
_CAPTURED = re.compile(r"^-+ Captured \w+ \w+ -+$")
_RULER = re.compile(r"^(?:=+ .* =+|_+ .* _+|-+ Captured \w+ \w+ -+)$")
_BAD = ("failures", "errors", "unexpected successes")
_ASIDE = ("skipped", "expected failures")


def pytest(text: str) -> Counted | None:
    """Count the tests in pytest's output at any verbosity, with and without xdist."""
    summaries = list(_SUMMARY.finditer(_without_captured(text))) or list(_SUMMARY.finditer(text))[-1:]
    found = [match for pattern in (_VERBOSE, _WORKER, _SHORT) for match in pattern.finditer(text)]
    names = {_node_id(match["name"]) for match in found} - {""}
    failed = {_node_id(match["name"]) for match in found if match["result"] == "FAILED"} - {""}
    if not summaries:
        marks = [match for match in _MARKS.finditer(text) if match["percent"]]
        if any(match["percent"] == "100" for match in marks):  # -qq
            return _by_marks("".join(match["marks"] for match in marks), sorted(failed))
        return Counted(ran=0, broken=True) if _NOT_STARTED.search(text) else None
    counts = [match["counts"] or "" for match in summaries]
    ran = sum(_named(text, "passed", "failed", "xpassed") for text in counts) + len(_SETUP.findall(text))
    shown = max(len(names), sum(len(re.findall("[.FEX]", match["marks"])) for match in _SHOWN.finditer(text)))
    failing = sum(_named(text, "failed", "error", "errors") for text in counts)
    broken = bool(_NOT_STARTED.search(text))
    return Counted(ran=ran, failing=failing, names=sorted(names), failed=sorted(failed), shown=shown, broken=broken)


def _without_captured(text: str) -> str:
    """Remove the tests' own output, which `-rA` and failures show."""
    if "- Captured " not in text:
        return text
    kept: list[str] = []
    is_captured = False
    for line in text.split("\n"):
        if _RULER.match(line):
            is_captured = _CAPTURED.match(line) is not None
        if not is_captured:
            kept.append(line)
    return "\n".join(kept)


def _node_id(name: str) -> str:
    """Return the id without pytest's additions; empty for an uncollected module or a line of a captured log."""
    file, colons, test = name.partition("::")
    if not colons or " " in file or "." not in file:
        return ""
    bracket = test.find("]") if "[" in test.partition(" - ")[0] else 0
    head, tail = test[: max(0, bracket)], test[max(0, bracket) :]
    return f"{file}::{head}{tail.partition(' - ')[0].partition(' <- ')[0].rstrip()}"


def _by_marks(marks: str, failed: list[str]) -> Counted:
    return Counted(
        ran=sum(marks.count(mark) for mark in ".FX"),
        failing=marks.count("F") + marks.count("E"),
        failed=failed,
        shown=len(re.findall("[.FEX]", marks)),
    )


def _named(counts: str, *names: str) -> int:
    """Return the sum of the counts with these names in a text such as `3 failed, 2 passed, 1 error`."""
    return sum(int(n) for n, name in re.findall(r"(\d{1,9}) (\w+)", counts) if name in names)


def unittest(text: str) -> Counted | None:
    """Count the tests in the output of unittest, Django or nose2. A summary without its last line does not count."""
    ran = [int(match["ran"]) for match in _RAN.finditer(text)]
    ends = list(_END.finditer(text)) if ran else []
    if not ran or not ends:
        return None
    texts = [match["counts"] or match["ok"] or match["no"] or "" for match in ends]
    not_run = sum(_equal(text, _ASIDE) for text in texts)
    count = max(0, sum(ran) - not_run - len(_UNLOADED.findall(text)))
    failing = sum(_equal(text, _BAD) for text in texts)
    failed = {_place(match) for match in _FAILED.finditer(text)}
    return Counted(ran=count, failing=failing, names=sorted(_names(text)), failed=sorted(failed))


def _equal(counts: str, names: tuple[str, ...]) -> int:
    """Return the sum of the counts with these names in a text such as `failures=2, expected failures=1`."""
    return sum(int(n) for name, n in re.findall(r"([\w ]{1,40})=(\d{1,9})", counts) if name.strip() in names)


def _place(match: re.Match[str]) -> str:
    """Return the full name of a test. Before Python 3.11, its place does not include the name of the method."""
    place, test = match["place"], match["test"]
    return place if place.endswith(f".{test}") else f"{place}.{test}"


def _names(text: str) -> set[str]:
    """Return the names that -v prints. A test's own output may be between its name and its result."""
    found: set[str] = set()
    current: str | None = None
    for line in text.splitlines():
        if line.startswith("====="):
            break
        rest = line
        while (started := _STARTED.match(rest)) is not None:
            if current is not None and rest is not line:  # failing subtests end without a line feed
                found.add(current)
            current = None if "_FailedTest" in started["place"] else _place(started)
            rest = started["rest"] or ""
        if current is not None and (result := _RESULT.search(line)):
            if not result["aside"]:
                found.add(current)
            current = None
    return found
