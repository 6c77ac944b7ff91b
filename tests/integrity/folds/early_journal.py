"""A journal of an early version."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.played_events import spec

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import ModelSpec, decode_event

EARLY = Path(__file__).with_name("early_journal.jsonl")


async def early(folder: Path) -> Path:
    """A journal of an early version, whose events have the fewest fields; some of this version, and one of a later."""
    journal = Journal.create(folder / "early.db", spec("do it", model=ModelSpec(name="scripted")))
    for line in EARLY.read_text().splitlines():
        journal.append(decode_event(json.loads(line)["type"], line.encode()))
    journal.close()
    return journal.path
