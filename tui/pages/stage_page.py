"""The screen on which a person decides on all that a run staged. It works without a runner and without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import Decide, RundryError

from ..control.review_words import Reviewed
from ..gate.entry_choices import STAGE, entry_choices
from ..gate.gate_panel import GatePanel
from ..gate.gate_review import restore_choices
from ..keys.choice_screen import ChoiceScreen
from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.lookup import keys_of
from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import EntryChoice, ProposalOpened, RebaseResult, StageReview

    from ..control.review_words import Opens
    from ..keys.letters import Left

_NOTES = 3
"""Maximum number of notes that are shown one by one."""
_KEEP_SECONDS = 0.3
"""Seconds between two looks for choices that are not stored yet."""
OPENING = "reading what is staged"
APPLYING = "applying what you accepted; then the checks of the run run in the workspace"
HOW = "{approve} applies what is accepted, {gate_back} leaves it staged and keeps your choices"
_CHOICES = {
    "stage_apply": ("apply", "look at it, and apply what you accept"),
    "stage_drop": ("drop", "drop it: the workspace stays as it is"),
    "close_dialog": ("keep", "keep it staged, and stay in the stage"),
}
"""By the action: the answer, and what it does."""


@dataclass(slots=True)
class _Waiting:
    """What the gate panel shows: one proposal, which no runner has."""

    proposals: dict[str, ProposalOpened] = field(default_factory=dict[str, "ProposalOpened"])
    rebased: dict[str, RebaseResult] = field(default_factory=dict[str, "RebaseResult"])
    refused: dict[int, str] = field(default_factory=dict[int, str])
    taken: set[int] = field(default_factory=set[int])


class StageScreen(ClosesOnce[Reviewed], ModalScreen[Reviewed]):
    """Shows the whole result as one proposal. Returns how the review ended."""

    DEFAULT_CSS = """
    StageScreen { background: $background; layout: vertical; }
    StageScreen #stage-head { height: 1; padding: 0 1; }
    StageScreen #stage-notes { height: auto; padding: 0 1; margin: 1 0 0 0; color: $dim; }
    StageScreen GatePanel { margin: 1 0 0 0; }
    StageScreen GatePanel.-whole { height: 1fr; }
    """

    def __init__(self, opens: Opens, task: str, remaps: Mapping[str, str]) -> None:
        """`task`: of the run. `remaps`: the user's keys by the name of their action."""
        super().__init__()
        self._opens, self._of_run = opens, task
        self._head = Static("", id="stage-head", markup=False)
        self._notes = Static("", id="stage-notes", markup=False)
        self.gate = GatePanel(keys_of("gate", remaps), self, self)
        self._waiting = _Waiting()
        self._review: StageReview | None = None
        self._decided: asyncio.Future[Decide | None] | None = None
        self._kept: Mapping[int, EntryChoice] = {}
        """The choices that are stored."""
        self._problem = ""
        """Why the last decision was not carried out."""
        self._asks = 0
        self._is_left = False
        """The person left before anything was shown."""

    def compose(self) -> ComposeResult:
        """Yield the title, the notes and the proposal."""
        yield self._head
        yield self._notes
        yield self.gate

    def on_mount(self) -> None:
        """Begin to read what is staged."""
        self._say(OPENING)
        self.set_interval(_KEEP_SECONDS, self._keep)
        self.run_worker(self._until_closed(), name="stage")

    def on_resize(self) -> None:
        """Fit the title to the width."""
        room = max(0, self.size.width - 2 - len("rundry  staged: "))
        task = one_line(self._of_run)
        task = task if len(task) <= room else f"{task[: max(0, room - 1)]}…"
        self._head.update(Content.assemble(("rundry", "bold $bright"), ("  staged: ", "$dim"), task))
        if self._waiting.proposals:
            self.gate.show(self._waiting)

    async def _until_closed(self) -> None:
        """Ask until a decision was carried out or the person leaves, then close."""
        reviewed: Reviewed | None = None
        try:
            while reviewed is None:
                reviewed = await self._ask()
        except RundryError as error:
            reviewed = Reviewed(failed=str(error))
        self.dismiss(reviewed)

    async def _ask(self) -> Reviewed | None:
        """Show what is staged now and carry out the decision. Returns None if it was not possible.

        Raises RundryError.
        """
        async with self._opens(self._say) as review:
            if review.is_empty:
                nothing = Decide(proposal_id="", digest=review.shown.digest, verdict="approve")
                return Reviewed(await review.apply(nothing))
            try:
                decision = await self._decision_on(review)
                if decision is None:
                    return Reviewed()
                self._say(APPLYING)
                return Reviewed(await review.apply(decision))
            except RundryError as error:
                self._problem = str(error)
                return None
            finally:
                self._review = None

    async def _decision_on(self, review: StageReview) -> Decide | None:
        """Return what the person decides, or None if they leave."""
        if self._is_left:
            return None
        self._asks += 1
        name = f"stage {self._asks}"  # another one each time, so that the gate takes over nothing from the last
        shown = msgspec.structs.replace(review.shown, tool=STAGE, proposal_id=name)
        self._review, self._decided, self._kept = review, asyncio.get_running_loop().create_future(), review.choices
        self._waiting.proposals = {name: shown}
        self.gate.review.update(self._waiting)
        assert shown.effects is not None  # it is not empty
        restore_choices(shown.effects, self.gate.review.whole_pending, review.choices)
        self._show_notes(review)
        self.gate.show(self._waiting)
        self.set_focus(self.gate)
        return await self._decided

    def _show_notes(self, review: StageReview) -> None:
        notes = [self._problem] if self._problem else []
        if review.choices:
            notes.append("begins with your choices of the last review")
        notes += review.notes[:_NOTES]
        if len(review.notes) > _NOTES:
            notes.append(f"and {len(review.notes) - _NOTES} more")
        self._say("\n".join(map(one_line, notes)))

    def _say(self, text: str) -> None:
        self._notes.display = bool(text)
        self._notes.update(Content.styled(text, "$verdict-bad" if text and text == self._problem else "$dim"))

    def content(self, blob: str | None) -> bytes | None:
        """Return the bytes of a blob of what is staged. Raises RundryError if the journal does not have it."""
        try:
            return None if self._review is None else self._review.content(blob)
        except KeyError:
            raise RundryError(f"the journal does not have the content {(blob or '')[:12]}") from None

    def proposal_painted(self) -> None:
        """Focus the gate."""
        if self.focused is None:
            self.set_focus(self.gate.inner)

    def decide(self, command: Decide) -> None:
        """Carry out a decision of the panel: a rejection leaves all of it staged."""
        self._end(None if command.verdict == "reject" else command)

    def _end(self, decision: Decide | None) -> None:
        self._keep()
        self._is_left = self._decided is None
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(decision)

    def _keep(self) -> None:
        """Store the choices that changed since they were stored."""
        whole, review = self.gate.review.whole, self._review
        if review is None or whole is None or whole.effects is None or self._decided is None or self._decided.done():
            return
        choices = entry_choices(whole.effects, self.gate.review.whole_pending)
        if choices != self._kept:
            self._kept = choices
            try:
                review.keep_choices(choices)
            except RundryError as error:
                self.gate.say(str(error))

    def on_gate_panel_acted(self) -> None:
        """Store a choice as soon as it is made."""
        self._keep()

    def on_left(self, event: Left) -> None:
        """Leave with nothing typed; there is no message box here."""
        if not event.text and event.key is None:
            self._end(None)
        else:
            self.gate.say(keymap_of(self).named(HOW))
            self.set_focus(self.gate.inner)

    def on_key(self, event: events.Key) -> None:
        """Leave by the keys that close a dialog or leave the program; what is being applied is finished first."""
        keymap = keymap_of(self)
        if keymap.closes(event.key):
            event.stop()
            self._end(None)
        elif keymap.action_of(event.key, "message") == "steer" and self.gate.keep_edit():
            event.stop()

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)


class LeaveStageScreen(ChoiceScreen):
    """Asks what happens to what is staged when the run should leave its stage. Returns `apply`, `drop` or `keep`."""

    def __init__(self, staged: str) -> None:
        """`staged`: how much is staged, such as `3 files staged`."""
        super().__init__(f"{staged}. What should happen to it?", _CHOICES)

    def on_key(self, event: events.Key) -> None:
        """Decide by a letter; the keys that close a dialog keep it staged."""
        keymap = keymap_of(self)
        self.choose(event, "close_dialog" if keymap.closes(event.key) else keymap.action_of(event.key, "leave"))
