"""Count tests in the output of `cargo test` and `cargo nextest`."""

from __future__ import annotations

import re

from .counted import Counted

_RESULT = re.compile(r"^test result: \w+\. (?P<passed>\d{1,9}) passed; (?P<failed>\d{1,9}) failed;", re.MULTILINE)
_BINARY = re.compile(r"^ *(?:Running (?P<path>.+?) \(\S+\)|Doc-tests (?P<crate>\S+))$")
_TEST = re.compile(r"^test (?P<name>\S.*?) \.\.\. (?P<result>.*)$")
_NEXTEST = re.compile(r"^ +Summary \[[^\]]*\] +(?P<ran>\d{1,9})(?:/\d+)? tests? run: (?P<counts>[^\n]*)$", re.MULTILINE)
_ONE = re.compile(
    r"^ +(?:PASS|FAIL|LEAK|ABORT|SIG\w+|TIMEOUT|TRY \d+ \w+) \[[^\]]*\](?: \( *\d+/\d+\))? +(?P<name>\S[^\n]*)$",
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
    return Counted(ran=ran, failing=failing, names=sorted(_names(text)))


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


def _nextest(text: str) -> Counted | None:
    found = list(_NEXTEST.finditer(text))
    if not found:
        return Counted(ran=0, broken=True) if _NOT_COMPILED.search(text) else None
    bad = re.compile(r"(\d{1,9}) (?:failed|timed out|exec failed)")
    failing = sum(int(n) for match in found for n in bad.findall(match["counts"]))
    return Counted(
        ran=sum(int(match["ran"]) for match in found),
        failing=failing,
        names=sorted({" ".join(match["name"].split()) for match in _ONE.finditer(text)}),
    )
