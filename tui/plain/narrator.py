"""Print what happens in a run: each entry once, when it is complete, and each change of state in words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rundry.agent import Block, ProposalOpened, Stamped, ViewState, clock, held_words, waiting_line

from ..control.end_words import JOBS_ENDED, ended_jobs_words, outcome_line
from ..head.meters import meters
from ..text.show_text import one_line, show
from .headless.search_lines import SearchLines
from .plain_proposals import entry_diff_lines, proposal_lines
from .plain_words import entry_lines

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from .console import Console

_GROWING = ("running", "ran", "waiting", "next")
_WORKING = ("thinking", "streaming", "running", "judging", "compacting")
_ALARMS = {"amber": "nearly used up", "red": "almost used up"}


class Narrator:
    """Compares the state of a run with what was printed, and prints the difference."""

    def __init__(self, controller: RunController, console: Console) -> None:
        self._controller, self._console = controller, console
        self._known = 0
        """Number of entries that were processed."""
        self._growing: list[int] = []
        self.digests: dict[str, str] = {}
        """The digest of each proposal as it was printed: a decision is about this version."""
        self._question = ""
        self._phase: tuple[str, int | None] = ("", None)
        """The phase printed last, and the step after which it was the person's turn: an update can have two turns."""
        self._levels: dict[str, str] = {}
        self.typed: list[str] = []
        """Messages that the person typed here, which are not repeated."""

    @property
    def waiting(self) -> Sequence[ProposalOpened]:
        """The proposals that wait, in the order of their numbers."""
        return list(self._controller.state.proposals.values())

    def update(self) -> None:
        """Print a line for each change since the last call."""
        state = self._controller.state
        self._say_entries(state)
        self._say_proposals(state)
        self._say_question(state)
        self._say_phase(state)
        self._say_levels(state)

    def search_news(self, news: Sequence[Stamped]) -> None:
        """Print what a search found."""
        if self._controller.state.finder is None:
            return
        lines = SearchLines(self._controller.state)
        for stamped in news:
            for line in lines.of(stamped):
                self._console.tell(one_line(line))

    def repeat(self, opened: ProposalOpened) -> None:
        """Print the proposal that waits once more."""
        waiting = self.waiting
        rebasing = self._controller.state.rebased.get(opened.proposal_id)
        number, content = waiting.index(opened) + 1, self._controller.content
        for line in proposal_lines(opened, rebasing, number, len(waiting), content):
            self._console.tell(line)

    def show_entries(self, opened: ProposalOpened, numbers: Sequence[int]) -> None:
        """Print the diffs of some entries of what a command would change. Raises RundryError."""
        if opened.effects is None:
            return
        for number in numbers:
            for line in entry_diff_lines(opened.effects, number, self._controller.content):
                self._console.tell(line)

    def _say_entries(self, state: ViewState) -> None:
        count = len(state.blocks)
        if count < self._known:
            self._console.tell("the conversation went back to an earlier point")
            self._known, self._growing = count, []
        first = max(self._known, state.blocks.first)
        self._growing += range(first, count)
        self._known = count
        left: list[int] = []
        for index in self._growing:
            block = state.blocks[index]
            if block.live or block.status in _GROWING:
                left.append(index)
            elif not self._was_typed(block):
                for line in entry_lines(block):
                    self._console.tell(line)
        self._growing = left

    def _was_typed(self, block: Block) -> bool:
        if block.kind not in ("task", "say", "steer") or block.text not in self.typed:
            return False
        self.typed.remove(block.text)
        return True

    def _say_proposals(self, state: ViewState) -> None:
        for opened in state.proposals.values():
            if self.digests.get(opened.proposal_id) != opened.digest:
                if opened.proposal_id in self.digests:
                    self._console.tell("The file changed, so this proposal is a new version:")
                self.digests[opened.proposal_id] = opened.digest
                self.repeat(opened)

    def _say_question(self, state: ViewState) -> None:
        question = state.question
        if question is None or question.question_id == self._question:
            return
        self._question = question.question_id
        self._console.tell("The model asks:")
        for line in show(question.question).split("\n"):
            self._console.tell(line)
        for number, option in enumerate(question.options, 1):
            self._console.tell(f"{number}: {one_line(option)}")
        self._console.tell("Type a number or an answer." if question.options else "Type an answer.")

    def _say_phase(self, state: ViewState) -> None:
        phase = self._controller.status.phase
        phase = "working" if phase in _WORKING else phase
        if phase == "waiting for you" and not state.proposals and state.question is None:
            phase = "your turn"
        now = (phase, state.step if phase == "your turn" else None)
        if now == self._phase:
            return
        self._phase = now
        if phase == "ended" and state.outcome is not None:
            self._say_end(state)
        elif phase == "sleeping" and state.sleeping is not None:
            why = one_line(state.sleeping.why)
            self._console.tell(f"sleeping for {clock(state.sleeping.seconds)}: {why}. /wake wakes it.")
        elif state.awaits and phase in ("waiting", "your turn"):
            self._console.tell(f"{waiting_line(state.awaits[0])}. /wake ends it.")
        elif phase == "your turn":
            self._console.tell("Your turn: type a message.")
        elif phase == "runner gone":
            self._console.tell("The runner is gone: it was killed or it crashed. Type /resume to continue.")
        elif phase not in ("ready", "waiting for you"):
            self._console.tell(phase)

    def _say_end(self, state: ViewState) -> None:
        ended = state.outcome
        assert ended is not None
        if ended.answer:
            self._console.tell("Answer:")
            for line in show(ended.answer).split("\n"):
                self._console.tell(line)
        self._console.tell(f"The run ended: {outcome_line(ended).removeprefix('-> ')}")
        if words := ended_jobs_words(ended):
            self._console.tell(f"{JOBS_ENDED}: {words}")
        if words := held_words(ended.held):
            self._console.tell(words)
        self._console.tell("Type a message to continue, or quit.")

    def _say_levels(self, state: ViewState) -> None:
        if not state.last_seq:
            return
        for meter in meters(state, time.time()):
            if meter.level != self._levels.get(meter.name, "calm") and meter.level in _ALARMS:
                self._console.tell(
                    f"budget: {meter.name} {_ALARMS[meter.level]}, {meter.used.strip()} of {meter.limit or '100%'}"
                )
            self._levels[meter.name] = meter.level
