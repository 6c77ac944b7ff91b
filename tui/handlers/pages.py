"""Actions about a hand-off, and about the models of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import Reason, RundryError, standing

if TYPE_CHECKING:
    from ..screens.main import MainScreen


def _handoff(screen: MainScreen, argument: str) -> None:
    from ..handoff import HandoffPage

    del argument
    state = screen.controller.state
    opened, journal = state.handoff or state.last_handoff, screen.controller.link.journal
    if state.handoff is None and state.outcome is not None and state.outcome.reason is not Reason.HANDOFF:
        opened = (standing(journal) if journal is not None else None) or opened
    if opened is None:
        raise RundryError("this run has no hand-off")
    screen.rundry.push_screen(HandoffPage(state, opened, lambda: screen.fill("/resume ")))


def _spend(screen: MainScreen, argument: str) -> None:
    from ..screens.dialogs.spend import SpendScreen

    del argument
    if not screen.controller.state.shares:
        raise RundryError("no model was called yet")
    screen.rundry.push_screen(SpendScreen(screen.controller.state))


DOINGS: Mapping[str, Callable[[MainScreen, str], None]] = {"handoff": _handoff, "spend": _spend}
