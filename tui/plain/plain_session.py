"""The session as lines: read what the person types, and print what happens."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rundry.agent import Interrupt, ModelSpec, Refusal, RundryError, StopHow, Unreachable, candidates

from ..app.leave_screen import Leaving
from ..control.run_follower import BEAT_SECONDS, STILL_SECONDS
from ..control.view_result import ViewResult
from ..text.show_text import one_line, show
from ..text.wrap_lines import terminal_width, wrapped
from .headless.wait_lines import WaitLines
from .narrator import Narrator
from .plain_commands import Commands
from .plain_proposals import at, decision, parse_verdict

if TYPE_CHECKING:
    from ..control.run_controller import RunController

_LEAVE = {"leave": "background", "finish": "wrap_up", "stop": "now"}
_ASK_LEAVE = "Type leave (the run continues), finish (it wraps up, then ends), stop (it ends now), or stay."


class PlainSession:
    """Shows one run as lines of words, until the person leaves."""

    def __init__(self, controller: RunController) -> None:
        self._controller = controller
        self._narrator = Narrator(controller, self)
        self._commands = Commands(controller, self._narrator, self)
        self._leaving = Leaving(controller, self, key="quit")
        self._offered_models: Sequence[ModelSpec] = ()
        controller.on_news = self._narrator.search_news
        self._result: ViewResult | None = None
        self._answer: Callable[[str], None] | None = None
        """Receives the next line, which answers a question of the program."""
        self._reason = ""
        self._part_line = b""
        self._startup_status = ""
        self._waits = WaitLines()
        self._once: set[str] = set()
        """Lines that are printed only once."""

    def run(self) -> ViewResult:
        """Follow the run until the person leaves."""
        return asyncio.run(self._follow())

    async def _follow(self) -> ViewResult:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._leave_by_signal)
        self._greet()
        self._controller.expect_message(is_typing=False)
        await self._offer_models()
        try:
            loop.add_reader(sys.stdin.fileno(), self._read)
        except PermissionError:  # a file is always readable
            self._read_all()
        writes = self._controller.link.writes
        beat_at = time.monotonic()
        try:
            while self._result is None:
                self._look()
                if time.monotonic() - beat_at > BEAT_SECONDS:
                    beat_at = time.monotonic()
                    self._controller.link.beat()
                await (asyncio.sleep(0) if self._controller.is_behind else writes.wait(STILL_SECONDS))
        finally:
            loop.remove_reader(sys.stdin.fileno())
            writes.close()
        return self._result

    def _greet(self) -> None:
        state = self._controller.state
        where = one_line(str(self._controller.root))
        model = f", model {one_line(state.model)}" if state.model else ""
        self.tell(f"rundry in {where}{model}, gate {state.gate_mode.value}. Type help for the words to use.")
        if not self._controller.begun and state.model:
            check = f" It is done when {one_line(' and '.join(state.goals))} passes." if state.goals else ""
            self.tell(f"Your turn: type a task.{check}")

    async def _offer_models(self) -> None:
        """Look for models and list them with numbers, if the run has none."""
        start = self._controller.start
        if start is None or self._controller.begun or start.model is not None:
            return
        self.tell("No model is chosen. Looking for keys and local servers.")
        self._offered_models = [each.model for each in candidates(await start.survey())]
        for number, model in enumerate(self._offered_models, 1):
            self.tell(f"{number}: {one_line(model.name)}")
        if self._offered_models:
            self.tell("Type the number of a model.")
        else:
            self.tell(
                "No model was found: set a key such as ANTHROPIC_API_KEY, or start a local server. "
                "`rundry demo` needs neither."
            )

    def _took_model(self, text: str) -> bool:
        """Choose the model of this number, and return whether the text was one. Raises RundryError."""
        start = self._controller.start
        if start is None or start.model is not None or not self._offered_models or not text.isdecimal():
            return False
        if not 1 <= int(text) <= len(self._offered_models):
            raise RundryError(f"type a number from 1 to {len(self._offered_models)}")
        model = self._offered_models[int(text) - 1]
        self._controller.switch_model(model)
        start.remember(model)
        self.tell(f"{one_line(model.name)} is used from now on. Type a task.")
        return True

    def _look(self) -> None:
        try:
            self._controller.catch_up()
        except Refusal as refusal:
            if self._controller.is_commanded:
                self._result = ViewResult(refused=str(refusal), later=isinstance(refusal, Unreachable))
                return
            self.tell(f"not started: {refusal}")
        except RundryError as error:
            self.tell(str(error))
        if self._controller.startup_status != self._startup_status:
            self._startup_status = self._controller.startup_status
            if self._startup_status:
                self.tell(self._startup_status)
        for why in self._controller.state.refused.values():
            self._say_once(f"refused: {why}")
        self._narrator.update()
        if self._controller.begun and not self._controller.status.is_at_rest:
            line = self._waits.due(self._controller.state, time.time())
            if line is not None:
                self.tell(line)
        self._leaving.go_once_over()
        if self._result is None and (following := self._controller.opens_next):
            self._result = ViewResult(next=following)

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65_536)
        if not data:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._end_of_input()
            return
        *lines, self._part_line = (self._part_line + data).split(b"\n")
        for line in lines:
            self._take(line.decode("utf-8", "replace").rstrip("\r"))
        self._controller.link.writes.wake()

    def _read_all(self) -> None:
        for line in sys.stdin:
            self._take(line.rstrip("\n"))
        self._end_of_input()

    def _end_of_input(self) -> None:
        """Leave, because nothing more can be typed. The run continues unless it waits for a message."""
        if self._result is None:
            self.leave("now" if self._controller.begun and self._controller.status.is_idle else None)

    def _take(self, line: str) -> None:
        if self._result is not None:
            return
        try:
            if self._answer is not None:
                answer, self._answer = self._answer, None
                answer(line.strip())
            else:
                self._enter(line)
        except RundryError as error:
            self.tell(str(error))

    def _enter(self, line: str) -> None:
        text = line.strip()
        if text in ("quit", "exit", "/quit"):
            self._leaving.begin()
        elif self._decided(text) or self._took_model(text) or self._commands.took(text):
            return
        elif text.startswith("!"):
            self._controller.shell(text)
        elif self._controller.state.is_user_in_control:
            self._controller.act(text)
        else:
            self._narrator.typed.append(text)
            self._controller.send_message(text)
            if self._narrator.waiting:
                self.tell("Sent to the model. The proposal still waits: type approve or reject.")

    def _decided(self, text: str) -> bool:
        waiting = self._narrator.waiting
        verdict = parse_verdict(text) if waiting else None
        if verdict is None:
            return False
        opened = at(waiting, verdict.number)
        if verdict.verb == "show" and verdict.entries:
            self._narrator.show_entries(opened, verdict.entries)
        elif verdict.verb == "show":
            self._narrator.repeat(opened)
        elif verdict.verb == "reason":
            self._reason = verdict.text
            self.tell("The reason is sent with your decision: type approve or reject.")
        else:
            digest = self._narrator.digests.get(opened.proposal_id, opened.digest)
            self._controller.decide(decision(verdict, opened, digest, self._reason))
            self._reason = ""
        return True

    def _interrupt(self) -> None:
        status = self._controller.status
        if self._answer is not None:
            self._answer = None
            self.tell("never mind")
        elif not status.is_idle:
            self._guarded(lambda: self._controller.put(Interrupt()))
            self.tell("interrupted")
        else:
            self.tell("Nothing is running. Type quit to leave.")

    def leave(self, stop: StopHow | None) -> None:
        """Leave; `stop` says how the run is stopped, if at all."""
        self._result = ViewResult(stop=stop)
        self._controller.link.writes.wake()

    def leave_for(self, what: str) -> None:
        """Leave, and open another run."""
        self._result = ViewResult(next=what)
        self._controller.link.writes.wake()

    def _leave_by_signal(self) -> None:
        self._result = ViewResult(signal=signal.SIGTERM)
        self._controller.link.writes.wake()

    def ask_how_to_leave(self) -> None:
        """Ask what happens to the run."""
        self.ask(_ASK_LEAVE, lambda word: self._leaving.answered(_LEAVE.get(word.lower())))

    def ask(self, question: str, answered: Callable[[str], None]) -> None:
        """Print a question, and pass the next line to `answered`."""
        self.tell(question)
        self._answer = answered

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except RundryError as error:
            self.tell(str(error))

    def _say_once(self, line: str) -> None:
        if line not in self._once:
            self._once.add(line)
            self.tell(line)

    def tell(self, text: str) -> None:
        """Print a text in lines of the width of the terminal."""
        width = terminal_width()
        rows = (row for part in show(text).split("\n") for row in wrapped(part, width))
        print("\n".join(rows), flush=True)
