"""The outcome of a headless run as the program's own type."""

from __future__ import annotations

import msgspec

from rundry.agent.protocol import Outcome

from ..rundry import Ran


def ended(ran: Ran) -> Outcome:
    return msgspec.convert(ran.outcome, Outcome)
