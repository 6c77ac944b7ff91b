"""Count tests in the output of `go test`: plain, with -v and with -json."""

from __future__ import annotations

import json
import re
from typing import cast

from .counted import Counted

_FAIL = re.compile(r"^--- FAIL: (\S*)", re.MULTILINE)
_BROKEN = re.compile(r"^FAIL\t\S+ \[(?:build|setup) failed\]$", re.MULTILINE)
_PANIC = re.compile(r"^FAIL\t\S+\t[\d.]+s$", re.MULTILINE)
_ANY = re.compile(r"^(?:ok  \t\S+\t|FAIL\t\S+|--- FAIL: )", re.MULTILINE)
_TEST = re.compile(r"^ *--- (?P<result>PASS|FAIL|SKIP): (?P<test>\S+) \([\d.]+s\)$")
_PACKAGE = re.compile(r"^(?P<result>ok  |FAIL)\t(?P<package>\S+)(?:\t(?P<rest>.*))?$")
_NO_TESTS = "[no tests to run]"


def go(text: str) -> Counted | None:
    """Count the tests in the output of `go test`. Without -v it names only packages, and prints no number of tests."""
    if (counted := _json(text)) is not None:
        return counted
    if not _ANY.search(text):
        return None
    failed = sorted(_FAIL.findall(text))
    failing = len(failed) + len(_BROKEN.findall(text)) or len(_PANIC.findall(text))
    tests, packages, is_verbose = _verbose(text)
    if is_verbose:
        top = [name for name in tests if "/" not in name.rpartition("\t")[2]]
        names = sorted(name.replace("\t", ".") for name in tests)
        return Counted(ran=len(top), failing=failing, names=names, failed=failed)
    return Counted(failing=failing, names=sorted(packages), failed=failed, broken=not packages)


def _verbose(text: str) -> tuple[set[str], set[str], bool]:
    """Return the tests that ran as `package TAB test`, the packages with tests, and whether each test was printed.

    The line of a package follows the lines of its tests.
    """
    tests: set[str] = set()
    packages: set[str] = set()
    waiting: list[str] = []
    is_verbose = False
    for line in text.splitlines():
        if match := _TEST.match(line):
            is_verbose = is_verbose or match["result"] != "FAIL"
            if match["result"] != "SKIP":
                waiting.append(match["test"])
        elif line.startswith("=== RUN "):
            is_verbose = True
        elif match := _PACKAGE.match(line):
            package, rest = match["package"], match["rest"] or ""
            tests.update(f"{package}\t{test}" for test in waiting)
            waiting.clear()
            if rest and _NO_TESTS not in rest:
                packages.add(package)
    return tests, packages, is_verbose


def _json(text: str) -> Counted | None:
    """Count the tests in the output of `go test -json`, which has one event per line."""
    if '"Action":"' not in text:
        return None
    ended: dict[tuple[str, str], str] = {}
    is_seen = False
    for line in text.splitlines():
        try:
            event: object = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(event, dict) or "Action" not in event:
            continue
        fields = cast("dict[str, object]", event)
        is_seen = True
        if fields["Action"] in ("pass", "fail") and fields.get("Test"):
            ended[str(fields.get("Package", "")), str(fields["Test"])] = str(fields["Action"])
    if not is_seen:
        return None
    top = {one: action for one, action in ended.items() if "/" not in one[1]}
    failed = sorted(f"{package}.{test}" for (package, test), action in top.items() if action == "fail")
    names = sorted(f"{package}.{test}" for package, test in ended)
    return Counted(ran=len(top), failing=len(failed), names=names, failed=failed)
