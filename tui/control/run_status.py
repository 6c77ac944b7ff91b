"""The status of a run, from its state and the state of its runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rundry.agent import LoopKind, ViewState, holder

if TYPE_CHECKING:
    from .run_link import Link


StatusWord = Literal["starting", "working", "waiting", "paused", "sleeping", "ended", "interrupted"]
"""What a run does, for programs."""


def status_word(state: ViewState, *, is_held: bool) -> StatusWord:
    """Return what a run does in one word. `is_held`: a process has the run."""
    if state.outcome is not None:
        return "ended"
    if not is_held:
        return "interrupted" if state.last_seq else "starting"
    if state.proposals or state.question is not None or state.waiting or state.awaits_person:
        return "waiting"
    if state.paused:
        return "paused"
    if state.sleeping is not None or state.awaits:
        return "sleeping"
    return "working" if state.step is not None else "starting"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Answers questions about a run at this moment."""

    link: Link
    state: ViewState
    begun: bool
    """Whether the run has begun; otherwise it is a draft."""
    is_parked: bool = False
    """Whether the runner exited because this view asked it to."""

    @property
    def phase(self) -> str:
        """The phase of the run; the state of the runner comes first."""
        if not self.begun:
            return "ready"
        where = self.link.runner_state()
        if where == "gone" and self.state.outcome is None:
            return self.state.phase if self.is_parked else "runner gone"
        if where == "warming":
            return "starting"
        return self.state.phase

    @property
    def is_over(self) -> bool:
        """Whether the run ended or has no runner."""
        return self.begun and (self.state.outcome is not None or self.link.runner_state() == "gone")

    @property
    def is_gone(self) -> bool:
        """Whether the runner died before the end."""
        is_gone = self.begun and self.state.outcome is None and self.link.runner_state() == "gone"
        return is_gone and not self.is_parked

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing runs: the run is over, or its next runner is starting."""
        return self.is_over or (self.state.last_seq > 0 and self.link.runner_state() == "warming")

    @property
    def is_orphaned(self) -> bool:
        """No runner takes commands, and none is starting. One that stays after the end resumes the run by itself."""
        journal = self.link.journal
        if journal is not None and self.state.outcome is not None:
            return self.link.runner_state() != "warming" and holder(journal.path) is None
        return self.begun and self.link.runner_state() == "gone"

    @property
    def waits_at_gate(self) -> bool:
        """Whether the run is over or waits at the gate, and no runner is starting: no decision is in progress."""
        at_rest = self.is_over or self.state.waiting == "gate"
        return at_rest and self.link.runner_state() != "warming"

    @property
    def is_idle(self) -> bool:
        """Whether leaving would lose nothing: there is no run, or a chat waits for a message."""
        waits = self.state.loop is LoopKind.CHAT and self.state.waiting == "message"
        return not self.begun or self.is_over or waits
