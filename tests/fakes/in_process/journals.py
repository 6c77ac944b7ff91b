"""A journal that no run wrote."""

from __future__ import annotations

from pathlib import Path

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import LoopKind, ModelSpec, RunSpec


def make_journal(path: Path) -> Journal:
    """Of an until-dry run that has not begun."""
    spec = RunSpec(
        run_id="20261121-014233-k3f9x",
        loop=LoopKind.UNTIL_DRY,
        task="look",
        workspace="/work",
        model=ModelSpec(name="openai/fake"),
    )
    return Journal.create(path, spec)
