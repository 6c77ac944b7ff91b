"""Carry out what the user enters: an action, a slash command, a shell line or a message. Does not import textual."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rundry.agent import Judge, Merge, RundryError

from ..actions import parse_slash
from ..board import BoardPanel
from ..gate import GatePanel
from ..run_controller import RunController
from .prompt import Prompt


class Dispatcher:
    """Runs handlers and sends commands, and shows the error if one fails."""

    def __init__(
        self, controller: RunController, prompt: Prompt, handlers: Mapping[str, Callable[[str], None]]
    ) -> None:
        self._controller, self._prompt, self._handlers = controller, prompt, handlers

    def do(self, name: str, argument: str = "") -> None:
        """Run the handler of an action."""
        try:
            self._handlers[name](argument)
        except RundryError as error:
            self._prompt.tell(str(error))

    def enter(self, text: str, typed: str | None, *, steer: bool) -> None:
        """Handle a text from the message box; after an error it is in the box again.

        `typed`: the part in which an `@` attaches an image. `steer`: it interrupts the running step.
        """
        if not text.startswith("/"):  # some commands ask once more, and look whether they did
            self._prompt.tell("")
        try:
            if text.startswith("/") and not text.startswith("//") and "\n" not in text:
                self._run_slash(text)
            elif text.startswith("!"):
                self._controller.shell(text)
            elif steer:
                self._controller.steer(text, typed)
            elif self._controller.state.driving:
                self._controller.act(text)
            else:
                self._controller.say(text, typed)
        except RundryError as error:
            self._prompt.tell(str(error))
            self._prompt.fill(text)

    def _run_slash(self, text: str) -> None:
        action, argument = parse_slash(text)
        if action is None:
            raise RundryError(f"{text.split()[0]}: no such command; /help lists them")
        self._handlers[action.name](argument)

    def send_from_board(self, search: BoardPanel, event: BoardPanel.Asked) -> None:
        """Send a command of the board to the run."""
        command, controller = event.command, self._controller
        try:
            put = controller.judge(command) if isinstance(command, Judge | Merge) else controller.put(command)
            search.sent(put)
            self._prompt.tell(event.said)
        except RundryError as error:
            self._prompt.tell(str(error))

    def send_decision(self, gate: GatePanel, event: GatePanel.Decided) -> None:
        """Send a decision of the gate to the run."""
        try:
            gate.sent(event.command, self._controller.decide(event.command))
        except RundryError as error:
            gate.not_sent(event.command, str(error))
