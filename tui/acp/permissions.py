"""Ask the editor about each proposal at the gate, and put the answer into the run's inbox."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from acp import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallUpdate
from pydantic import ValidationError

from rundry.agent import SHORT_DIGEST, Decide, GateVerdict, ProposalOpened, RebaseResult, RundryError

from ..gate.pending_decision import PendingDecision
from ..gate.proposal_words import allowed_words, may_always, notes, rules_of
from ..keys.keymap import Keymap
from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line
from .narration import call_of
from .tool_calls import Place, kind_of, location, note_content, proposal_content, proposal_line

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from ..plain.console import Console

_READ_SECONDS = 2.0
"""Seconds within which the editor must return an unsaved buffer."""
UNSAVED = "the editor has unsaved changes in this file: an approved edit changes the file on disk, without them"
_OPTION = 60
"""Cells of what an option allows."""
_VERDICTS: dict[str, GateVerdict] = {
    "approve": "approve",
    "session": "approve",
    "prefix": "approve",
    "reject": "reject",
    "again": "again",
    "mine": "mine",
}


@dataclass(slots=True)
class Permissions:
    """The permission requests of one session. Each is about one digest, and its answer counts only for that."""

    client: Client
    session_id: str
    channel: str
    """The editor, as decisions are recorded."""
    controller: RunController
    place: Place
    console: Console
    """The conversation in the editor."""
    reads_buffers: bool = False
    """Whether the editor offers the text of unsaved buffers."""
    unanswered: set[str] = field(default_factory=set[str])
    """Ids of proposals that the editor was asked about and did not decide."""
    _asked: dict[str, tuple[str, asyncio.Task[None]]] = field(
        default_factory=dict[str, tuple[str, "asyncio.Task[None]"]]
    )
    """Proposal id to the digest that was sent, and the task that waits for the answer."""
    _decided: dict[int, str] = field(default_factory=dict[int, str])
    """Command id of a decision to the proposal's id, until the runner answers."""

    def update(self) -> None:
        """Ask about proposals that are new or changed, and forget requests about those that are decided."""
        state = self.controller.state
        waiting = state.proposals
        for name, (digest, task) in list(self._asked.items()):
            if name not in waiting or waiting[name].digest != digest:
                task.cancel()
                del self._asked[name]
                self.unanswered.discard(name)
                if name in waiting:
                    self.console.tell("The file changed, so the proposal is a new version: decide again.")
        for number, name in list(self._decided.items()):
            if number in state.refused and name in self._asked:
                del self._asked[name]
            if number in state.refused or number in state.taken:
                del self._decided[number]
        for name, opened in waiting.items():
            if name not in self._asked:
                task = asyncio.ensure_future(self._ask(opened, state.rebased.get(name)))
                self._asked[name] = opened.digest, task

    def ask_again(self) -> None:
        """Ask once more about what the editor did not decide."""
        for name in self.unanswered:
            self._asked.pop(name, None)
        self.unanswered.clear()

    def forget(self) -> None:
        """Stop waiting for answers. The proposals stay as they are."""
        for _, task in self._asked.values():
            task.cancel()
        self._asked.clear()

    async def _ask(self, opened: ProposalOpened, rebasing: RebaseResult | None) -> None:
        try:
            tool_call = await self._described(opened, rebasing)
            answer = await self.client.request_permission(self.session_id, tool_call, options_for(opened, rebasing))
            self._take(answer, opened, rebasing)
        except (RequestError, ValidationError) as error:
            logging.warning("the editor did not answer a permission request: %s", error)
            self._leave_open(opened, "the editor cannot decide on it")
        except ConnectionError:
            self.unanswered.add(opened.proposal_id)
        except RundryError as error:
            self._leave_open(opened, str(error))

    def _take(self, answer: RequestPermissionResponse, opened: ProposalOpened, rebasing: RebaseResult | None) -> None:
        if not isinstance(answer.outcome, AllowedOutcome):
            self._leave_open(opened, "it was not decided")
            return
        chosen = answer.outcome.option_id
        if chosen not in {option.option_id for option in options_for(opened, rebasing)}:
            self._leave_open(opened, f"{one_line(chosen)[:40]!r} was not one of the answers")
            return
        number = self.controller.decide(
            Decide(
                proposal_id=opened.proposal_id,
                digest=opened.digest,
                verdict=_VERDICTS[chosen],
                session=chosen in ("session", "prefix"),
                prefix=chosen == "prefix",
                channel=self.channel,
            )
        )
        if number is not None:
            self._decided[number] = opened.proposal_id
        self.controller.link.writes.wake()

    def _leave_open(self, opened: ProposalOpened, why: str) -> None:
        self.unanswered.add(opened.proposal_id)
        run, digest = self.controller.state.run_id, opened.digest[:SHORT_DIGEST]
        self.console.tell(
            f"The proposal still waits ({why}). Your next message asks again; "
            f"`rundry approve {run} --digest {digest}` decides in a terminal."
        )
        self.controller.link.writes.wake()

    async def _described(self, opened: ProposalOpened, rebasing: RebaseResult | None) -> ToolCallUpdate:
        place = self.place
        lines = [line for line, _ in notes(
            opened, rebasing, PendingDecision(), Keymap({}), explained=True, is_tight=False, acts=False
        )]  # fmt: skip
        if self.reads_buffers and opened.path is not None and await self._is_unsaved(opened, place):
            lines.append(UNSAVED)
        return ToolCallUpdate(
            tool_call_id=call_of(opened),
            title=proposal_line(opened),
            kind=kind_of(opened.tool),
            status="pending",
            content=[*proposal_content(opened, place), *note_content(lines)],
            locations=[] if opened.path is None else [location(opened.path, place.workspace)],
        )

    async def _is_unsaved(self, opened: ProposalOpened, place: Place) -> bool:
        """Return whether the editor's text of the file differs from the file on which the proposal is based."""
        before = place.content(opened.before)
        path = str(Path(place.workspace) / (opened.path or ""))
        try:
            reading: Awaitable[str] = self._buffer(path)
            text = await asyncio.wait_for(reading, _READ_SECONDS)
        except (RequestError, ValidationError, TimeoutError):
            return False
        return before is not None and text.splitlines() != before.decode(errors="replace").splitlines()

    async def _buffer(self, path: str) -> str:
        return (await self.client.read_text_file(self.session_id, path)).content


def options_for(opened: ProposalOpened, rebasing: RebaseResult | None) -> list[PermissionOption]:
    """Return the answers that the editor offers for a proposal."""
    reject = PermissionOption(option_id="reject", name="Reject", kind="reject_once")
    if rebasing is not None and rebasing.conflict:
        return [
            PermissionOption(option_id="again", name="Ask the model again", kind="reject_once"),
            PermissionOption(option_id="mine", name="Keep the file as it is", kind="reject_once"),
            reject,
        ]
    found = [PermissionOption(option_id="approve", name="Allow once", kind="allow_once")]
    if may_always(opened):
        name = "Allow for this session"
        if rules_of(opened):
            what = cells_cut(allowed_words(opened), _OPTION)
            found.append(PermissionOption(option_id="session", name=f"{name}: {what}", kind="allow_always"))
        if opened.prefixes:
            what = f"{name}, all arguments: {allowed_words(opened, prefix=True)}"
            found.append(PermissionOption(option_id="prefix", name=what, kind="allow_always"))
    return [*found, reject]
