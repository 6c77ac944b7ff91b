"""Print the results of `rundry check` and `rundry backup`. Does not import textual."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from rundry.agent import backup_journal, check_journal, plural

from ..border.json_out import print_json
from ..setup.resuming import find_any
from ..text import one_line


def check(ref: str | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print each finding on a line. Return the exit code, which is 1 if the journal is damaged. Raises UserError."""
    found = check_journal(find_any(ref, flags))
    if as_json:
        print_json(found)
        return 0 if found.is_sound else 1
    for finding in found.findings:
        print(f"{finding.part}: {one_line(finding.text)}")
    if found.is_sound:
        counted = f"{plural(found.events, 'event')}, {plural(found.contents, 'stored content')}"
        print(one_line(f"{found.run_id}  sound: {counted}"))
        return 0
    return 1


def backup(ref: str | None, target: str | None, flags: Mapping[str, object]) -> int:
    """Copy the journal.

    Return the exit code, which is 1 if the journal, and so the copy, is damaged. Raises RundryError.
    """
    place, damage = backup_journal(find_any(ref, flags), None if target is None else Path(target))
    print(one_line(str(place)))
    if damage:
        print(f"rundry: the journal is damaged, and so is the copy: {one_line(damage)}", file=sys.stderr)
        return 1
    return 0
