"""The board, with the line that asks before a finding is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from rundry.agent import AddItem, AddLens, Command, Judge, JudgeVerdict, Merge, RundryError, SkipItem, ViewState

from ..keys.screen_keymap import keymap_of
from .ask_line import AskLine
from .board import Board

_ASKS = {
    "confirmed": ("confirm", "reason? {line_keep} confirms, {line_drop} cancels"),
    "refuted": ("refute", "reason? {line_keep} refutes, {line_drop} cancels"),
    "evidence": ("request evidence", "what is missing? {line_keep} sends, {line_drop} cancels"),
}
FIND_HINT = "text? {line_keep} keeps the filter, {line_drop} clears it"
NO_LIST = "the works in progress are not a list that can be filtered"
NO_FINDING = "select a finding first: press {view_1} to list them"


class BoardPanel(Vertical):
    """The board of a search. The user's commands to the search are posted as `Asked`."""

    DEFAULT_CSS = """
    BoardPanel { height: 1fr; display: none; }
    """

    class Asked(Message):
        """The person sends this command to the run."""

        def __init__(self, command: Command, notice: str) -> None:
            super().__init__()
            self.command = command
            self.notice = notice
            """The notice that is shown when the command was sent."""

    def __init__(self, actions: Mapping[str, str], *, acts: bool) -> None:
        """`acts`: the view can change the run."""
        super().__init__()
        self.board = Board(actions, acts=acts)
        self._line = AskLine()
        self._then: Callable[[str], BoardPanel.Asked] | None = None
        self._finds = False
        """The line is for a text that the rows contain."""
        self._sent: set[int] = set()

    def compose(self) -> ComposeResult:
        """Yield the board and the line below it that asks for a reason."""
        yield self.board
        yield self._line

    def ask(self, verdict: JudgeVerdict) -> None:
        """Judge the selected finding, after asking for a reason. Raises RundryError if none is selected."""
        finding = self.board.finding
        if finding is None:
            raise RundryError(keymap_of(self).named(NO_FINDING))
        verb, hint = _ASKS[verdict]
        key, title = finding.key, finding.title

        def judged(reason: str) -> BoardPanel.Asked:
            done = {"confirmed": "confirmed", "refuted": "refuted", "evidence": "sent back"}[verdict]
            return self.Asked(Judge(key=key, verdict=verdict, reason=reason), f"{done}: {title}")

        self._then = judged
        self._line.ask(verb, title, hint)

    def find(self) -> None:
        """Filter the rows by a text that is typed. Raises RundryError for a view without a list."""
        board = self.board
        if board.view.tab == "work":
            raise RundryError(NO_LIST)
        self._finds = True
        self._line.ask("find", f"rows of {board.view.tab}", FIND_HINT, board.view.text)

    def on_ask_line_typed(self, message: AskLine.Typed) -> None:
        """Show the rows that contain the text so far."""
        message.stop()
        if self._finds:
            self.board.find(message.text)

    def merge(self) -> str:
        """Mark the selected finding, or merge the marked one into it. Return a notice. Raises RundryError."""
        board = self.board
        finding = board.finding
        if finding is None:
            raise RundryError(keymap_of(self).named(NO_FINDING))
        marked, board.marked = board.marked, None
        if marked is None:
            board.marked = finding.key
            board.draw()
            return keymap_of(self).named("select the finding that it duplicates, then press {merge}; {back} cancels")
        board.draw()
        if marked == finding.key:
            return "not merged"
        self.post_message(self.Asked(Merge(key=marked, into=finding.key), f"merged into {finding.title}"))
        return ""

    def skip(self) -> None:
        """Skip the selected item of the queue. Raises RundryError if none is selected."""
        board = self.board
        if board.view.tab != "queue" or board.picked is None:
            text = "select an item of the queue first: press {view_%d} to list it"
            raise RundryError(keymap_of(self).named(text % (board.number_of("queue") or 1)))
        self.post_message(self.Asked(SkipItem(key=board.picked), f"skipped {board.picked}"))

    def add_item(self, argument: str) -> None:
        """Add an item to the queue, given as `url https://…`. Raises RundryError."""
        kind, _, value = argument.partition(" ")
        if not value.strip():
            raise RundryError(f"/item {argument}: use /item url ADDRESS, /item file PATH or /item value TEXT")
        self.post_message(self.Asked(AddItem(kind=kind, value=value.strip()), f"added {value.strip()}"))

    def add_lens(self, argument: str) -> None:
        """Add a lens, given as `NAME PROMPT`. Raises RundryError."""
        name, _, prompt = argument.partition(" ")
        if not prompt.strip():
            raise RundryError(f"/lens {argument}: use /lens NAME PROMPT")
        self.post_message(
            self.Asked(AddLens(name=name, prompt=prompt.strip()), f"lens {name} starts with the next pass")
        )

    def sent(self, command_id: int) -> None:
        """Remember the id of a command that was put into the inbox."""
        self._sent.add(command_id)

    def refusals(self, state: ViewState) -> list[str]:
        """Return why the runner refused commands of the board. Each refusal is returned once."""
        answered = [number for number in self._sent if number in state.refused]
        self._sent.difference_update(answered)
        return [state.refused[number] for number in answered]

    def on_ask_line_dropped(self, message: AskLine.Dropped) -> None:
        """Do nothing: the focus stays where the person moved it."""
        message.stop()
        self._then, self._finds = None, False

    def on_ask_line_given(self, message: AskLine.Given) -> None:
        """Send the command with its reason, or nothing if the person cancelled."""
        message.stop()
        then, self._then = self._then, None
        finds, self._finds = self._finds, False
        self._line.display = False
        self.board.come_back()
        if finds:
            self.board.find(message.reason or "")
        if message.reason is not None and then is not None:
            self.post_message(then(message.reason))
