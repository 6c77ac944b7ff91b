"""Export the events of a run for other programs, with keys hidden and without blobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ...journal.encoding import encode
from ...protocol import Stamped, to_json_line

if TYPE_CHECKING:
    from ...journal.journal import Journal

_BATCH = 2_000


def exported(journal: Journal) -> Iterator[Stamped]:
    """Yield all events, oldest first. Keys in the present environment are hidden, too."""
    after = 0
    while events := journal.read(after, _BATCH):
        for stamped in events:
            after = stamped.seq
            event, _ = encode(stamped.event, journal.redactor)
            yield msgspec.structs.replace(stamped, event=event)


def exported_lines(journal: Journal) -> Iterator[bytes]:
    """Yield the events as JSON Lines (docs/requirements.md 13.1)."""
    for stamped in exported(journal):
        yield to_json_line(stamped) + b"\n"
