"""Commands of a plain session: words, and the slash commands of the screen that need no dialog."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rundry.agent import Point, Rewind, RundryError, Undo, handoff_markdown, plural

from ..app.handlers.control_handlers import finish_in_control, take_or_return_control
from ..app.handlers.run_handlers import RunHandlers
from ..app.message_and_notice import Prompt
from ..control.run_reader import step_title
from ..control.typed_commands import typed_command
from ..keys.keymap import Keymap
from ..keys.lookup import parse_slash, slash_commands
from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line, show
from .headless.headless_lines import model_words
from .plain_words import HELP, budget_lines, detail_lines, entry_lines, status_line

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from .console import Console
    from .narrator import Narrator

_WORDS = {"help", "status", "budget", "details", ""}
_FOUND = 20
"""Lines that `/find` prints at most."""
_POINTS = 12
"""Points of a rewind that are listed, the newest ones."""
_TITLE = 60
"""Characters of the title of a point."""


class Commands:
    """Carries out what begins with a slash, and the words `help`, `status`, `budget` and `details`."""

    def __init__(self, controller: RunController, narrator: Narrator, console: Console) -> None:
        self._controller, self._narrator, self._console = controller, narrator, console
        prompt = _PlainPrompt(console)
        run = _PlainRunHandlers(controller, prompt, self)
        own: Mapping[str, Callable[[str], None]] = {
            "model": self._model,
            "undo": self._undo,
            "handoff": self._handoff,
            "spend": lambda _: self._lines("budget"),
            "help": lambda _: self._lines("help"),
            "rewind": self.rewind,
            "compact": self._compact,
            "clear": lambda argument: self._put("clear", argument),
            "find": self._find,
            "wheel": lambda note: take_or_return_control(controller, note),
            "finish": lambda answer: finish_in_control(controller, prompt, answer),
            "edit_file": self._edit,
            "skill": self._skill,
        }
        self._handlers: Mapping[str, Callable[[str], None]] = {**run.table(), **own}

    def took(self, text: str) -> bool:
        """Carry out a command, and return whether the text was one. Raises RundryError."""
        word = text.removeprefix("/").lower()
        if word in _WORDS:
            self._lines(word)
            return True
        if not text.startswith("/") or text.startswith("//"):
            return False
        action, argument = parse_slash(text)
        handler = self._handlers.get(action.name) if action is not None else None
        if action is None and (message := self._controller.extensions.command_message(text)) is not None:
            self._narrator.typed.append(message)
            self._controller.send_message(message, argument)
            return True
        if handler is None:
            known = action is not None
            raise RundryError(
                f"{text.split()[0]}: {'this command needs the screen' if known else 'no such command'}; "
                "type help for those that work here"
            )
        handler(argument)
        return True

    def _lines(self, word: str) -> None:
        state = self._controller.state
        match word:
            case "budget":
                lines = budget_lines(state, time.time())
            case "details":
                lines = detail_lines(state.blocks)
            case "help":
                lines = (*HELP[:-1], HELP[-1] + ", ".join(self._slashes()))
            case _:
                lines = (status_line(state, self._controller.status.phase),)
        for line in lines:
            self._console.tell(line)

    def _slashes(self) -> list[str]:
        here = [action for action in slash_commands() if action.name in self._handlers and action.name != "edit_file"]
        return sorted(f"/{action.slash.replace('_', '-')}" for action in here)

    def _model(self, argument: str) -> None:
        if not argument:
            self._console.tell(
                f"The model is {one_line(model_words(self._controller.state.model)) or 'not chosen'}. /model NAME"
            )
            return
        model = self._controller.reader.model_named(argument)
        self._controller.switch_model(model)
        name = one_line(model.name)
        self._console.tell(f"asking {name}" if self._controller.begun else f"{name} is used")

    def _undo(self, argument: str) -> None:
        words = argument.split()
        if words not in ([], ["1"]) and not (len(words) == 1 and words[0].isdecimal() and int(words[0])):
            raise RundryError(f"/undo {argument}: use /undo or /undo 3")
        count = int(words[0]) if words else 1
        standing = self._controller.reader.changes().standing[-count:]
        if not standing:
            raise RundryError("nothing has been changed yet")
        files = list[str]()
        for change in reversed(standing):
            self._console.tell(f"undo: {one_line(change.title)}")
            about = "" if change.is_proven else "changed while it ran, perhaps by you: "
            for path, effect in change.files.items() if change.command is not None else ():
                self._console.tell(f"  {about}{one_line(path)} +{effect.added} -{effect.removed}")
                files += [] if change.is_proven else [path]
            for words in change.effects.also if change.effects is not None else ():
                self._console.tell(f"  {one_line(words)}")
            for words in change.effects.built if change.effects is not None else ():
                self._console.tell(f"  this stays: {one_line(words)}")
        ask = "Type yes to undo this, with each of these files." if files else "Type yes to undo this."
        command = Undo(changes=len(standing), confirmed=files)
        self._console.ask(ask, lambda word: self._undo_when(word, command))

    def _undo_when(self, word: str, command: Undo) -> None:
        if word.lower() in ("yes", "y"):
            self._controller.put_anywhere(command)
        else:
            self._console.tell("nothing was undone")

    def open_view(self, what: str) -> None:
        """Leave for another run, as `ViewResult.next` names it."""
        self._console.leave_for(what)

    def rewind(self, argument: str) -> None:
        """Restore the files and the conversation of the point with this number; without one, list the points."""
        controller = self._controller
        if not controller.begun:
            raise RundryError("there is no run yet: type a task")
        if controller.state.activity:
            raise RundryError("a step is running: press Control+C to interrupt it first")
        points = controller.reader.points()[-_POINTS:]
        if not points:
            raise RundryError("there is no earlier message")
        if argument:
            self._rewind_to(points, argument)
            return
        changes = controller.reader.changes()
        for number, point in enumerate(points, 1):
            files = len({path for change in changes.after(point.seq) for path in change.files})
            back = f" (would restore {plural(files, 'file')})" if files else ""
            self._console.tell(f"{number}: before {self._point_title(point)}{back}")
        question = "Type the number to go back to. The files are restored. Any other word changes nothing."
        self._console.ask(question, lambda word: self._rewind_when(points, word))

    def _point_title(self, point: Point) -> str:
        said = point.text if point.text is not None else step_title(self._controller.state.blocks, point)
        text = cells_cut(one_line(said), _TITLE)
        return f"your message: {text}" if point.text is not None else f"step {point.step}: {text}".rstrip(": ")

    def _rewind_when(self, points: Sequence[Point], word: str) -> None:
        if word.isdecimal():
            self._rewind_to(points, word)
        else:
            self._console.tell("nothing was changed")

    def _rewind_to(self, points: Sequence[Point], number: str) -> None:
        if not number.isdecimal() or not 1 <= int(number) <= len(points):
            raise RundryError(f"/rewind {number}: type /rewind, then a number from 1 to {len(points)}")
        point = points[int(number) - 1]
        self._controller.put_anywhere(Rewind(seq=point.seq))
        if point.text is not None and not self._controller.is_the_task(point.text):
            self._console.tell(f"Your message was: {one_line(point.text)}")

    def _put(self, name: str, argument: str) -> None:
        self._controller.put(typed_command(name, argument))

    def _compact(self, argument: str) -> None:
        """Request a summary, undo it, or print what the model reads now."""
        if argument != "show":
            self._put("compact", argument)
            return
        for message in self._controller.reader.sent_messages():
            first, *more = show(message.text).split("\n")
            self._console.tell(
                f"{message.tool or message.writer}: {cells_cut(first, _TITLE)} ({plural(message.tokens, 'token')})"
            )
            for line in more if message.writer == "summary" else ():
                self._console.tell(line)

    def _handoff(self, _argument: str) -> None:
        state = self._controller.state
        if state.last_handoff is None:
            raise RundryError("there is no hand-off in this run")
        digests = {name: opened.digest for name, opened in state.proposals.items()}
        record = handoff_markdown(state.last_handoff, run_id=state.run_id, journal=state.journal, waiting=digests)
        for line in show(record).split("\n"):
            self._console.tell(line)

    def _find(self, argument: str) -> None:
        """Print the newest entries that contain a text."""
        if not argument:
            raise RundryError("/find needs a text: /find TEXT")
        blocks, wanted, found = self._controller.state.blocks, argument.casefold(), list[str]()
        for index in range(blocks.first, len(blocks)):
            block = blocks[index]
            shown = list(entry_lines(block))
            found += [line for line in shown if wanted in line.casefold()]
            if block.has_detail:
                inside = [line for line in detail_lines([block]) if wanted in line.casefold() and line not in shown]
                found += [f"in {one_line(block.title)}: {line.strip()}" for line in inside]
        for line in found[-_FOUND:]:
            self._console.tell(line)
        more = f", the newest {_FOUND} are shown" if len(found) > _FOUND else ""
        self._console.tell(f"{plural(len(found), 'line')} with {one_line(argument)}{more}" if found else "not found")

    def _edit(self, _argument: str) -> None:
        raise RundryError("/edit needs the screen: change the file in your own editor, then /control and a note")

    def _skill(self, argument: str) -> None:
        text = self._controller.extensions.skill_message(argument)
        self._narrator.typed.append(text)
        self._controller.send_message(text, argument)


class _PlainRunHandlers(RunHandlers):
    """Those of a session without a screen, where lists are lines."""

    def __init__(self, controller: RunController, prompt: Prompt, commands: Commands) -> None:
        super().__init__(controller, prompt, Keymap({}))
        self._commands = commands

    def rewind(self) -> None:
        """List the points. Raises RundryError."""
        self._commands.rewind("")

    def open_view(self, what: str) -> None:
        """Leave for another run."""
        self._commands.open_view(what)

    def continue_newest(self) -> None:
        """Refuse it: another run cannot be opened here."""
        raise RundryError("there is no run yet: type a task")


class _PlainPrompt(Prompt):
    """The message box and its notices, as handlers use them, without a screen.

    It prints each notice once. A text for the message box is printed as the start of a command.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""
        self._keymap = Keymap({})

    @property
    def text(self) -> str:
        """Always empty: there is no message box."""
        return ""

    @property
    def whole_text(self) -> str:
        """Always empty: there is no message box."""
        return ""

    def fill(self, text: str) -> None:
        """Print what the person should type."""
        self._console.tell(f"complete the command: {text}")

    def tell(self, text: str, *, asked: int | None = None) -> None:
        """Print a notice as a line of its own."""
        self._last = text
        if text:
            self._console.tell(text)

    def shows(self, text: str) -> bool:
        """Return whether this was the last notice."""
        return text == self._last
