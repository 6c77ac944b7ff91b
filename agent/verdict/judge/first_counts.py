"""What a check counted first, with which later results are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..counting.counted import Counted

if TYPE_CHECKING:
    from .judge_case import Case


class CountsDamaged(Exception):
    """The journal does not have what a check counted."""


def first_counts(case: Case, command: str) -> Counted | None:
    """Return the counts of the first run of a check, or None if it counted nothing. Raises CountsDamaged.

    If a person accepted that fewer tests run, these are the counts that they accepted.
    """
    verdicts = case.facts.verdicts
    blob = verdicts.references.get(command)
    if command in verdicts.accepted:
        blob = verdicts.checks[command].counted
    try:
        return None if blob is None else msgspec.json.decode(case.journal.blobs.load(blob), type=Counted)
    except (KeyError, msgspec.DecodeError):
        raise CountsDamaged(f"the record of what `{command}` counted first is damaged") from None
