"""One session of an editor: a run, what the editor is shown of it, its turns and slash commands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    StopReason,
    UsageUpdate,
)

from rundry.agent import (
    Answer,
    Charged,
    CommandRefused,
    GateModeChanged,
    LoopKind,
    ModelSwitched,
    RundryError,
    RunResumed,
    RunStarted,
    Stamped,
)

from ..control.picked_answer import picked_option
from ..control.run_follower import BEAT_SECONDS
from ..keys.lookup import parse_slash
from ..plain.narrator import Narrator
from ..plain.plain_commands import Commands
from .acp_options import COMMANDS, SKILL, Choices, commands
from .acp_text import words
from .narration import Narration, Update, message, text_of, words_of
from .permissions import Permissions
from .prompt_text import Message, send
from .tool_calls import Place
from .turn import Rest, Turn

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from ..plain.console import Console
    from .acp_runs import EditorLink

_STILL_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_BATCH = 500
_READ_SECONDS = 60.0
"""Longest time to read a stored run without a state that its runner stored."""
SessionUpdate = Update | AvailableCommandsUpdate | ConfigOptionUpdate | CurrentModeUpdate | UsageUpdate
_OPTIONS = (GateModeChanged, ModelSwitched, RunStarted, RunResumed, CommandRefused)
"""Events after which the editor may show another choice than the run has."""


_OF_A_STORED_RUN = (
    "limit", "model", "effort", "undo", "rewind", "resume", "spend", "handoff", "find", "until", "scope", "format",
)  # fmt: skip
"""Actions whose slash command works for a run without a runner."""
_OF_A_CHAT = ("compact", "clear", "gate", "queue", "deny")
"""Actions for which a chat without a runner gets one first. The others are about work that runs."""


class EditorSession:
    """Follows one run for an editor. Closing it leaves the run as closing the screen does."""

    def __init__(
        self, session_id: str, controller: RunController, link: EditorLink, client: Client, *, channel: str, reads: bool
    ) -> None:
        """`channel`: the editor, as decisions are recorded. `reads`: it offers the text of unsaved buffers."""
        self.session_id, self.controller, self._link, self._client = session_id, controller, link, client
        self._place = Place(controller)
        self._narration, self._rest = Narration(self._place), Rest()
        self._slash = _Slash(controller, self)
        self._pending: list[SessionUpdate] = []
        self.permissions = Permissions(client, session_id, channel, controller, self._place, self, reads)
        self.choices = Choices(controller, channel)
        self.notes: list[str] = []
        """Lines that the first turn begins with."""
        self._turn: Turn | None = None
        self._owed = ""
        """The answer to a question that the next runner asks again."""
        self._owed_command = ""
        """A slash command for the next runner."""
        self._looked = asyncio.Event()
        self._announced: tuple[str, ...] = ()
        """The choices that the editor shows."""
        self._following: asyncio.Task[None] | None = None

    @property
    def workspace(self) -> Path:
        """The folder in which the run works."""
        return self.controller.root

    def follow(self) -> None:
        """Begin to follow the run, and announce the slash commands."""
        own = commands(self.controller.extensions.user_commands())
        self._pending.append(
            AvailableCommandsUpdate(session_update="available_commands_update", available_commands=own)
        )
        self.controller.on_news = self._news
        self._following = asyncio.ensure_future(self._follow())

    async def prompt(self, prompt: Message) -> StopReason:
        """Send a message or a slash command, and wait until the run rests. Raises RequestError, RundryError."""
        if self._turn is not None:
            raise RequestError(-32600, "a prompt is being worked on in this session: cancel it first")
        for note in self.notes:
            self.tell(note)
        self.notes.clear()
        turn = self._turn = Turn(self.controller, self._link.sent, self._rest, self.controller.state.last_seq)
        try:
            if (filled := self._slash.filled(prompt.text)) is not None:
                prompt.text, prompt.typed = filled
            else:
                turn.is_command = self._owes_command(prompt.text, turn) or self._slash.took(prompt.text)
            if not turn.is_command:
                self._narration.typed.append(prompt.text)
                self.permissions.ask_again()
                self._send(prompt)
            self._link.writes.wake()
            return await turn.ended
        finally:
            self._turn = None
            await self._flush()

    def _send(self, prompt: Message) -> None:
        controller, wanted = self.controller, self.choices.take_wanted()
        if controller.status.is_orphaned and controller.state.question is not None:
            self._owed = prompt.text  # the next runner asks again
            controller.resume(wanted)
        else:
            send(controller, prompt, wanted)

    def _owes_command(self, text: str, turn: Turn) -> bool:
        """Start the runner of a chat for a command that needs one. Return whether it did. Raises RundryError."""
        if not self.controller.status.is_orphaned or (name := self._slash.named(text)) is None:
            return False
        if name in _OF_A_STORED_RUN or name not in COMMANDS:
            return False
        if name not in _OF_A_CHAT or self.controller.state.loop is not LoopKind.CHAT:
            raise RundryError(f"{text.split()[0]}: nothing runs in this session: send a message to continue it")
        self._owed_command, turn.owes = text, True
        self.controller.resume(self.choices.take_wanted())
        return True

    def _give_owed_command(self) -> None:
        turn = self._turn
        if not self._owed_command or turn is None or self._rest.seq <= turn.since:
            return
        text, self._owed_command = self._owed_command, ""
        turn.owes, turn.since = False, self.controller.state.last_seq
        self._slash.took(text)

    def _answer_owed(self) -> None:
        question = self.controller.state.question
        if self._owed and question is not None and self._turn is not None and self._rest.seq > self._turn.since:
            text, self._owed = self._owed, ""
            self.controller.put(Answer(question_id=question.question_id, text=picked_option(question, text)))

    async def answered(self) -> None:
        """Wait until the runner took or refused what was sent, for a few seconds at most."""
        self._link.writes.wake()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                while self._link.sent - self.controller.state.taken - self.controller.state.refused.keys():
                    self._looked.clear()
                    await self._looked.wait()

    def cancel(self) -> None:
        """Interrupt the turn, if there is one."""
        if self._turn is not None:
            self._turn.cancel()
            self._link.writes.wake()

    def announce_options(self) -> None:
        """Send what is chosen now, if the editor shows something else."""
        options = self.choices.options()
        chosen = (*(option.current_value for option in options), *self.choices.models)
        if chosen == self._announced:
            return
        self._announced = chosen
        self._pending += [
            CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self.choices.gate.value),
            ConfigOptionUpdate(session_update="config_option_update", config_options=[*options]),
        ]
        self._link.writes.wake()

    def tell(self, text: str) -> None:
        """Show a line of the program in the conversation."""
        self._pending.append(message(f"\n\n> {words(text)}\n\n"))

    def leave_for(self, what: str) -> None:
        """Refuse it: an editor opens other runs itself."""
        raise RundryError(f"another run is opened on the screen: rundry {what}")

    def ask(self, question: str, answered: Callable[[str], None]) -> None:
        """Show a question of a slash command, and pass the next prompt to `answered`."""
        self.tell(question)
        self._slash.answer = answered

    async def replay(self, *, shown: bool) -> None:
        """Read the stored events of the run, and send them if `shown`. Call it before `follow`."""
        self.controller.catch_up(within=_READ_SECONDS)
        journal, last = self._link.journal, self.controller.state.last_seq
        self._narration, after = Narration(self._place), 0
        while journal is not None and after < last and (events := journal.read(after, _BATCH)):
            for stamped in events:
                after = stamped.seq
                if after <= last:
                    self._pending += self._narration.of(stamped)
                    self._rest.take(stamped)
            self._pending += self._narration.flush()
            if not shown:
                self._pending.clear()
            await self._flush()

    async def close(self, *, ends: bool = False) -> None:
        """Stop following. `ends`: also stop a run that waits for a message, as leaving the screen does."""
        if self._following is not None:
            self._following.cancel()
        self.permissions.forget()
        if self._turn is not None:
            self._turn.fail("the session was closed")
        try:
            if ends and self.controller.begun and self.controller.status.is_idle:
                self.controller.stop("now", within=2.0)
        except RundryError as error:
            logging.warning("the run was not stopped: %s", error)
        finally:
            self._link.close()

    async def _follow(self) -> None:
        try:
            await self._follow_to_end()
        except ConnectionError:
            pass  # the editor has gone; the server closes this session
        except Exception as error:  # the last place that can report it to the editor
            logging.exception("session %s cannot be followed any more", self.session_id)
            if self._turn is not None:
                self._turn.fail(f"internal error: {type(error).__name__}: {error}; load the session again")

    async def _follow_to_end(self) -> None:
        beat_at = time.monotonic()
        while True:
            self._look()
            self._looked.set()
            await self._flush()
            self.permissions.update()
            if self._turn is not None:
                self._turn.look(gave_up=self._is_given_up())
            if time.monotonic() - beat_at > BEAT_SECONDS:
                beat_at = time.monotonic()
                self._link.beat()
            waits = _STILL_SECONDS if self._turn is None else _STILL_SECONDS / 10
            await (asyncio.sleep(0) if self.controller.is_behind else self._link.writes.wait(waits))

    def _look(self) -> None:
        try:
            self.controller.catch_up()
            self._answer_owed()
            self._give_owed_command()
        except RundryError as error:
            if self._turn is not None:
                self._turn.fail(str(error))
            else:
                self.tell(str(error))

    def _is_given_up(self) -> bool:
        return self.controller.state.proposals.keys() <= self.permissions.unanswered

    def _news(self, news: Sequence[Stamped]) -> None:
        for stamped in news:
            self._rest.take(stamped)
            self._pending += self._narration.of(stamped)
        if any(isinstance(stamped.event, Charged) for stamped in news):
            self._pending += self._usage()
        if any(isinstance(stamped.event, _OPTIONS) for stamped in news):
            self.announce_options()

    def _usage(self) -> list[UsageUpdate]:
        state = self.controller.state
        spent = state.common.ledger.spent
        if not state.window:
            return []
        cost = None if spent.unpriced else Cost(amount=round(spent.usd, 6), currency="USD")
        return [UsageUpdate(session_update="usage_update", used=state.prompt_tokens, size=state.window, cost=cost)]

    async def _flush(self) -> None:
        """Send what is pending, and join the pieces of one text."""
        pending, self._pending = self._pending, []
        for update in _joined(pending):
            await self._client.session_update(self.session_id, update)


def _joined(updates: Sequence[SessionUpdate]) -> list[SessionUpdate]:
    """Join neighbouring pieces of one text."""
    found: list[SessionUpdate] = []
    for update in updates:
        match found[-1] if found else None, update:
            case (AgentMessageChunk() as first, AgentMessageChunk()) | (
                AgentThoughtChunk() as first,
                AgentThoughtChunk(),
            ):
                found[-1] = first.model_copy(update={"content": text_of(words_of(first) + words_of(update))})
            case _:
                found.append(update)
    return found


class _Slash:
    """Carries out slash commands; a question of one is answered by the next prompt."""

    def __init__(self, controller: RunController, console: Console) -> None:
        self._controller = controller
        self._commands = Commands(controller, Narrator(controller, console), console)
        self.answer: Callable[[str], None] | None = None
        """Receives the next prompt."""

    def took(self, text: str) -> bool:
        """Carry out a command or answer its question. Return False for a message. Raises RundryError."""
        line = text.strip()
        if self.answer is not None:
            answer, self.answer = self.answer, None
            answer(line)
            return True
        action, _ = parse_slash(line) if line.startswith("/") and "\n" not in line else (None, "")
        if action is None:
            return False
        if action.name not in COMMANDS:
            raise RundryError(f"{line.split()[0]}: this command needs the screen; open it with `rundry watch`")
        return self._commands.took(line)

    def named(self, text: str) -> str | None:
        """Return the name of the action of a slash command, or None for other texts."""
        line = text.strip()
        if self.answer is not None or not line.startswith("/") or "\n" in line:
            return None
        action, _ = parse_slash(line)
        return None if action is None else action.name

    def filled(self, text: str) -> tuple[str, str] | None:
        """Return the message of `/skill NAME` or of a command of the user, and the part that was typed; else None.

        Raises UserError for one that cannot be used.
        """
        line = text.strip()
        if not line.startswith("/") or self.answer is not None:
            return None
        action, argument = parse_slash(line)
        extensions = self._controller.extensions
        if action is not None:
            return (extensions.skill_message(argument), argument) if action.name == SKILL else None
        message = extensions.command_message(line)
        return None if message is None else (message, argument)
