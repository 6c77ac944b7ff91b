"""Compare the tests of a check with exit code 0 with those that it ran before (docs/requirements.md 2.3.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from ...protocol.text.counts import plural
from ...protocol.text.shorten_text import end_cut

if TYPE_CHECKING:
    from .counted import Counted


_FAILURE = re.compile(
    r"^(?:FAILED \((?:failures|errors|unexpected successes)=\d+[^\n]*\)"  # unittest
    r"|(?:FAIL|ERROR): \w+ \([\w.]+\)[^\n]*"
    r"|(?:FAILED|ERROR) \S+\.py::\S+[^\n]*"  # pytest
    r"|not ok \d+[^\n]*"  # TAP
    r"|test \S+ \.\.\. FAILED|error: (?:test failed|could not compile)[^\n]*"  # cargo
    r"|g?make(?:\[\d+\])?: \*\*\* [^\n]*"
    r"|npm (?:ERR!|error) [^\n]*)$",
    re.MULTILINE,
)
"""A line of a failure, in an output that was cut so that its counts are missing."""
_LONGEST = 80


class Suspicion(msgspec.Struct, frozen=True):
    """Why a check with exit code 0 is suspect."""

    why: str
    """Reason for people and for the model: a clause without a full stop."""
    missing: list[str] = []
    """Names of tests that ran before but not now, sorted."""
    is_fewer: bool = False
    """Tests that ran before did not run now, and nothing else is wrong."""


def why_suspect(before: Counted | None, now: Counted | None, output: str = "") -> Suspicion | None:
    """Return why the check is suspect, or None.

    `before`: the first counts of this check, or None if it never printed any. `now`: the counts of a run with exit code
    0, `output`: what it printed.
    """
    if before is None:
        return _printed_failure(output) if now is None else _contradiction(now)
    if now is None:
        return Suspicion(f"it printed no count of tests, although {_ran(before)} before", _names(before), is_fewer=True)
    if now.ran == 0 and not (before.is_empty and not before.broken):
        return Suspicion(f"no test ran, although {_ran(before)} before", _names(before), is_fewer=True)
    if now.failing:
        return Suspicion(f"its exit code is 0, but it counts {now.failing} failing")
    return _missing(before, now)


def _printed_failure(output: str) -> Suspicion | None:
    found = _FAILURE.search(output)
    if found is None:
        return None
    return Suspicion(f"its exit code is 0, but it prints `{end_cut(found[0], _LONGEST)}`")


def _contradiction(now: Counted) -> Suspicion | None:
    """Return why the counts contradict the exit code 0, or None if they do not."""
    if now.failing:
        return Suspicion(f"its exit code is 0, but it counts {now.failing} failing")
    if now.broken:
        return Suspicion("its exit code is 0, but the tests could not be loaded")
    if now.ran == 0:
        return Suspicion("its exit code is 0, but no test ran")
    return None


def _missing(before: Counted, now: Counted) -> Suspicion | None:
    if before.is_named and now.is_named:
        missing = sorted(set(before.names) - set(now.names))
        unit = "test" if before.ran is not None else "package"
        why = f"{plural(len(missing), unit)} that ran before did not run"
        return Suspicion(why, missing, is_fewer=True) if missing else None
    if before.ran is not None and (now.ran or 0) < before.ran:
        named = sorted(set(before.names) - set(now.names)) if now.is_named else []
        return Suspicion(f"{plural(now.ran or 0, 'test')} ran, and {before.ran} before", named, is_fewer=True)
    if before.shown and before.shown >= (before.ran or 0) and now.shown is not None and 2 * now.shown < (now.ran or 0):
        return Suspicion(f"it printed a summary of {now.ran} tests without their results")
    return None


def _names(before: Counted) -> list[str]:
    return before.names if before.is_named else []


def _ran(counted: Counted) -> str:
    if counted.ran is None and counted.names:
        return f"{plural(len(counted.names), 'package')} ran"
    if not counted.ran:
        return "the tests could not be loaded" if counted.broken or counted.failing else "none ran"
    return f"{plural(counted.ran, 'test')} ran"
