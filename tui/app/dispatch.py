"""Carry out what the person enters: an action, a slash command, a shell line or a message. Does not import textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import Judge, LoopKind, Merge, RundryError

from ..keys.lookup import parse_slash

if TYPE_CHECKING:
    from ..board.board_panel import BoardPanel
    from ..control.run_controller import RunController
    from ..pages.first_choices import Choice
    from .handlers.all_handlers import Handlers
    from .message_and_notice import Prompt


class Dispatcher:
    """Runs handlers and sends commands, and shows the error if one fails."""

    def __init__(self, controller: RunController, prompt: Prompt, handlers: Handlers) -> None:
        self._controller, self._prompt, self._handlers = controller, prompt, handlers
        self._check = ""
        """The check that was set for a task of the first screen."""

    def do(self, name: str, argument: str = "") -> None:
        """Run the handler of an action."""
        try:
            self._call(name, argument)
        except RundryError as error:
            self._prompt.tell(str(error))

    def _call(self, name: str, argument: str) -> None:
        self._handlers.table[name](argument)
        if name == "until" and argument:
            self._check = ""  # the user's own check replaces that of an example, and is kept

    def choose(self, choice: Choice) -> None:
        """Carry out a choice of the first screen, and show the error if it fails."""
        try:
            self._handlers.choices.choose(choice)
        except RundryError as error:
            self._prompt.tell(str(error))

    def enter(self, text: str, typed: str | None, *, steer: bool, check: str = "") -> None:
        """Handle a text from the message box; after an error it is in the box again, to correct it.

        `typed`: the part in which an `@` attaches an image. `steer`: it interrupts the running step. `check`: the
        command that decides when the task is done, if the text is a task of the first screen.
        """
        if not text.startswith("/"):  # some commands ask for confirmation, and check whether they did already
            self._prompt.tell("")
        try:
            if text.startswith("/") and not text.startswith("//") and "\n" not in text:
                self._run_slash(text, steer=steer)
            elif text.startswith("!"):
                self._controller.shell(text)
            elif steer:
                self._refuse_for_child()
                self._controller.steer(text, typed)
            elif self._controller.state.is_user_in_control:
                self._controller.act(text)
            else:
                self._refuse_for_child()
                self._set_check(check)
                self._controller.send_message(text, typed)
        except RundryError as error:
            self._prompt.tell(str(error))
            if not _is_whole_command(text):
                self._prompt.fill(text)

    def _refuse_for_child(self) -> None:
        """Raise RundryError if a child run has the model: a message to its parent would never be delivered."""
        state = self._controller.state
        child = None if state.loop is LoopKind.CHAT else state.common.children.open
        if child is not None and self._controller.state.child_phase and not self._controller.status.is_orphaned:
            way = self._prompt.named(f"{{child}} opens it, or rundry ctl {child.run_id} queue TEXT sends it there")
            raise RundryError(f"its child run {child.run_id} has the model: {way}")

    def _set_check(self, check: str) -> None:
        """Set the check of a task of the first screen, or remove that of an earlier one whose run was refused.

        A check that the command line names is kept.
        """
        start = self._controller.start
        is_named = bool(self._controller.state.goals) and not self._check
        if start is not None and not self._controller.begun and not is_named and check != self._check:
            start.set("until", (check,) if check else ())
            self._check = check

    def _run_slash(self, text: str, *, steer: bool) -> None:
        action, argument = parse_slash(text)
        if action is not None:
            self._call(action.name, argument)
            return
        message = self._controller.extensions.command_message(text)
        if message is None:
            raise RundryError(f"{text.split()[0]}: no such command; /help lists them")
        self._refuse_for_child()
        send = self._controller.steer if steer else self._controller.send_message
        send(message, argument)

    def send_from_board(self, search: BoardPanel, event: BoardPanel.Asked) -> None:
        """Send a command of the board to the run."""
        command, controller = event.command, self._controller
        try:
            put = controller.put_anywhere(command) if isinstance(command, Judge | Merge) else controller.put(command)
            search.sent(put)
            self._prompt.tell(event.notice)
        except RundryError as error:
            self._prompt.tell(str(error))


def _is_whole_command(text: str) -> bool:
    """Return whether it is a command in which nothing can be corrected: one without an argument that needs none."""
    action, argument = parse_slash(text) if text.startswith("/") else (None, "")
    return action is not None and (not action.takes or (not argument and action.takes.startswith("[")))
