"""Count tests in the output of `cargo test` and `cargo nextest`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .counted import Counted

_RESULT = re.compile(r"^test result: \w+\. (?P<passed>\d{1,9}) passed; (?P<failed>\d{1,9}) failed;", re.MULTILINE)
_BINARY = re.compile(r"^ *(?:Running (?P<path>.+?) \(\S+\)|Doc-tests (?P<crate>\S+))$")
_TEST = re.compile(r"^test (?P<name>\S.*?) \.\.\. (?P<result>.*)$")
_LISTED = re.compile(r"^    (\S+(?: .*)?)$")
_NEXTEST = re.compile(r"^ +Summary \[[^\]]*\] +(?P<ran>\d{1,9})(?:/\d+)? tests? run: (?P<counts>[^\n]*)$", re.MULTILINE)
_ONE = re.compile(
    r"^ +(?P<result>PASS|FAIL|LEAK|ABORT|SIG\w+|TIMEOUT|TRY \d+ \w+)"
    r" \[[^\]]*\](?: \( *\d+/\d+\))? +(?P<name>\S[^\n]*)$",
    re.MULTILINE,
)
_NOT_COMPILED = re.compile(r"^error: could not compile ", re.MULTILINE)


def cargo(text: str) -> Counted | None:
    """Return the sum of the counts of all binaries and doc tests."""
    results = list(_RESULT.finditer(text))
    if not results:
        return _nextest(text)
    ran = sum(int(match["passed"]) + int(match["failed"]) for match in results)
    failing = sum(int(match["failed"]) for match in results)
    return Counted(ran=ran, failing=failing, names=sorted(_names(text)), failed=sorted(_failed(text)))


def _names(text: str) -> set[str]:
    names: set[str] = set()
    binary = ""
    for line in text.splitlines():
        if match := _BINARY.match(line):
            binary = match["path"] or f"doc {match['crate']}"
        elif (match := _TEST.match(line)) and not match["result"].startswith("ignored"):
            name = re.sub(r" \(line \d+\)| - should panic$", "", match["name"])
            names.add(f"{binary}: {name}" if binary else name)
    return names


def _failed(text: str) -> Iterator[str]:
    """Yield the tests in the list that each binary prints before its result. A name can occur in several binaries."""
    listed: list[str] = []
    is_listing = False
    binary = ""
    for line in text.splitlines():
        if match := _BINARY.match(line):
            binary = match["path"] or f"doc {match['crate']}"
        elif line == "failures:":
            listed, is_listing = [], True
        elif _RESULT.match(line):
            yield from (f"{binary}: {name}" if binary else name for name in listed)
            listed, is_listing = [], False
        elif is_listing and (match := _LISTED.match(line)):
            listed.append(re.sub(r" \(line \d+\)| - should panic$", "", match[1]))


def _nextest(text: str) -> Counted | None:
    found = list(_NEXTEST.finditer(text))
    if not found:
        return Counted(ran=0, broken=True) if _NOT_COMPILED.search(text) else None
    bad = re.compile(r"(\d{1,9}) (?:failed|timed out|exec failed)")
    failing = sum(int(n) for match in found for n in bad.findall(match["counts"]))
    ended = list(_ONE.finditer(text))
    failed = {" ".join(match["name"].split()) for match in ended if match["result"] in ("FAIL", "ABORT")}
    return Counted(
        ran=sum(int(match["ran"]) for match in found),
        failing=failing,
        names=sorted({" ".join(match["name"].split()) for match in ended}),
        failed=sorted(failed),
    )
