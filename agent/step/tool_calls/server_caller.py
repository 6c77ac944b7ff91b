"""Answer for a run what an MCP server asks while a call of its tool runs, and show the progress of the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import OutputArrived, QuestionAnswered, QuestionAsked, Waiting
from ..resources.growing_pauses import GrowingPauses

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

_WITHDRAWN = "the question was withdrawn: nobody is there, or the call ended"


class ServerCaller:
    """The caller of one tool of a server."""

    def __init__(self, ctx: RunContext, tool: str, call_id: str, events: Events) -> None:
        self._ctx, self._tool, self._call_id, self._events = ctx, tool, call_id, events
        self._asked = 0
        self._line = self._shown = ""
        self._pauses = GrowingPauses(self._show)
        self.notes: list[str] = []
        """What the model has to know about the call, each once."""

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """Ask the person, without counting the time. Returns None if nobody is there."""
        ctx = self._ctx
        if not ctx.journal.views.is_attended():
            return None
        self._asked += 1
        name, asked = f"{self._call_id}.{self._asked}", ctx.facts.requests.questions
        self._events.record(QuestionAsked(question_id=name, question=question, options=[*options]))
        self._events.record(Waiting(why="question"))
        try:
            with ctx.limits.standing():
                await ctx.activity.until(
                    lambda: name not in asked or (ctx.headless and not ctx.journal.views.is_attended())
                )
        finally:
            is_answered = name not in asked
            if not is_answered:
                self._events.record(QuestionAnswered(question_id=name, text=_WITHDRAWN, by="program"))
        return ctx.facts.requests.answers[name] if is_answered else None

    def report(self, line: str) -> None:
        """Show how far the call is on its row, from time to time."""
        self._line = line
        self._pauses.changed()

    def close(self) -> None:
        """Report nothing more."""
        self._pauses.stop()

    def _show(self) -> None:
        if self._line != self._shown:
            self._shown = self._line
            self._events.record(OutputArrived(command=self._tool, line=self._line, call_id=self._call_id))

    def note(self, line: str) -> None:
        """Tell the model about it with the result."""
        if line not in self.notes:
            self.notes.append(line)
