"""A gate with a proposal."""

from __future__ import annotations

from typing import Any

from painted import until
from textual.pilot import Pilot

from fakes.screens import Stage
from rundry.agent import (
    Decide,
)

SIZE = (100, 30)


async def opened(pilot: Pilot[Any], stage: Stage, *events: object) -> None:
    stage.play(*events)
    await until(pilot, lambda: stage.screen.gate.arming.painted is not None)


def decisions(stage: Stage) -> list[tuple[str, str, str | None]]:
    return [(c.proposal_id, c.verdict, c.reason) for c in stage.link.commands if isinstance(c, Decide)]
