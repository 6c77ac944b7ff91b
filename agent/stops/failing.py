"""How many tests fail, read from a check's output: progress is told from noise by it (REQUIREMENTS 2.3.7)."""

from __future__ import annotations

import json
import re
from typing import cast

from .plain import plain

_PYTEST_WORDS = "failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests \\w+"
_PYTEST = re.compile(
    rf"^=*\s*(?P<counts>(?:\d+ (?:{_PYTEST_WORDS})(?:, )?)+)"
    r" in [\d.]+s?(?: \([\d:]+\))?\s*=*$",
    re.MULTILINE,
)
_UNITTEST_RAN = re.compile(r"^Ran \d+ tests? in [\d.]+s$", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAILED \((?P<counts>[^)]*)\)|OK(?: \([^)]*\))?|NO TESTS RAN)$", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. \d+ passed; (\d+) failed;", re.MULTILINE)
_GO_FAIL = re.compile(r"^--- FAIL: ", re.MULTILINE)
_GO_BROKEN = re.compile(r"^FAIL\t\S+ \[(?:build|setup) failed\]$", re.MULTILINE)
_GO_PANIC = re.compile(r"^FAIL\t\S+\t[\d.]+s$", re.MULTILINE)
_GO_ANY = re.compile(r"^(?:ok  \t\S+\t|FAIL\t\S+|--- FAIL: )", re.MULTILINE)
_NODE = re.compile(r"^(?:# |ℹ )fail (\d+)$", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+(?P<counts>(?:\d+ \w+(?:, | \| )?)+)(?: \(\d+\)|total)?\s*$", re.MULTILINE)
_MOCHA = re.compile(r"^ +(\d+) (passing|failing)\b", re.MULTILINE)
_CDATA = re.compile(r"<!\[CDATA\[.*?\]\]>", re.DOTALL)
_JUNIT = re.compile(r"<testcase\b[^>]*?(?P<closed>/)?>|<(?P<bad>failure|error)\b|</testcase>")


def count_failing(output: str) -> int | None:
    """Failing and broken tests, by what pytest, unittest, go, cargo, node, jest, mocha and JUnit print.

    Summed up where one check prints several summaries; None where it prints none.
    """
    text = plain(output)
    in_xml = _junit(text)
    if in_xml is not None:
        return in_xml
    counts = [count for count in (reader(text) for reader in _READERS) if count is not None]
    return sum(counts) if counts else None


def _pytest(text: str) -> int | None:
    return _sum(_named(match["counts"], "failed", "error", "errors") for match in _PYTEST.finditer(text))


def _unittest(text: str) -> int | None:
    if not _UNITTEST_RAN.search(text):
        return None
    found = [match for match in _UNITTEST.finditer(text) if match[0] != "NO TESTS RAN"]
    bad = ("failures", "errors", "unexpected successes")
    return _sum(
        sum(int(n) for k, n in re.findall(r"([\w ]+)=(\d+)", m["counts"] or "") if k.strip() in bad) for m in found
    )


def _cargo(text: str) -> int | None:
    return _sum(int(match[1]) for match in _CARGO.finditer(text))


def _go(text: str) -> int | None:
    if (count := _go_json(text)) is not None:
        return count
    if not _GO_ANY.search(text):
        return None
    count = len(_GO_FAIL.findall(text)) + len(_GO_BROKEN.findall(text))
    return count or len(_GO_PANIC.findall(text))


def _go_json(text: str) -> int | None:
    """`go test -json`: one event a line."""
    if '"Action":"' not in text:
        return None
    failed: set[tuple[str, str]] = set()
    seen = False
    for line in text.splitlines():
        try:
            event: object = json.loads(line) if line.startswith("{") else None
        except ValueError:
            continue
        if isinstance(event, dict) and "Action" in event:
            told = cast("dict[str, object]", event)
            seen = True
            test = str(told.get("Test", ""))
            if told["Action"] == "fail" and test and "/" not in test:
                failed.add((str(told.get("Package", "")), test))
    return len(failed) if seen else None


def _node(text: str) -> int | None:
    return _sum(int(match[1]) for match in _NODE.finditer(text))


def _jest(text: str) -> int | None:
    return _sum(_named(match["counts"], "failed") for match in _JEST.finditer(text))


def _mocha(text: str) -> int | None:
    return _sum(int(match[1]) if match[2] == "failing" else 0 for match in _MOCHA.finditer(text))


def _junit(text: str) -> int | None:
    """Test cases with a failure or an error in them, in the XML that most runners can write."""
    if "<testsuite" not in text:
        return None
    count, is_open, is_counted = 0, False, False
    for match in _JUNIT.finditer(_CDATA.sub("", text)):
        if match["bad"]:
            if is_open and not is_counted:
                count, is_counted = count + 1, True
        elif match[0].startswith("<testcase"):
            is_open, is_counted = not match["closed"], False
        else:
            is_open = False
    return count


def _named(counts: str, *names: str) -> int:
    """`3 failed, 2 passed, 1 error`: the sum of those with these names."""
    return sum(int(n) for n, name in re.findall(r"(\d+) (\w+)", counts) if name in names)


def _sum(counts: object) -> int | None:
    found = list(cast("list[int]", counts))
    return sum(found) if found else None


_READERS = (_pytest, _unittest, _cargo, _go, _node, _jest, _mocha)
