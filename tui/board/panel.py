"""The board with the line that asks before anything is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from rundry.agent import AddItem, AddLens, Command, Judge, Merge, RundryError, SkipItem, ViewState

from .ask import AskLine
from .board import Board

_ASKS = {
    "confirmed": ("confirm", "reason? ⏎ confirms, esc cancels"),
    "refuted": ("refute", "reason? ⏎ refutes, esc cancels"),
    "evidence": ("request evidence", "what is missing? ⏎ sends, esc cancels"),
}
NO_FINDING = "select a finding first: press 1 to list them"


class BoardPanel(Vertical):
    """What a person says to a search goes out from here as `Asked`."""

    DEFAULT_CSS = """
    BoardPanel { height: 1fr; display: none; }
    """

    class Asked(Message):
        """The person wants this of the run."""

        def __init__(self, command: Command, said: str) -> None:
            super().__init__()
            self.command = command
            self.said = said
            """What the person reads once it is sent."""

    def __init__(self, actions: Mapping[str, str]) -> None:
        super().__init__()
        self.board = Board(actions)
        self._line = AskLine()
        self._then: Callable[[str], BoardPanel.Asked] | None = None
        self._sent: set[int] = set()

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield self.board
        yield self._line

    def ask(self, verdict: str) -> None:
        """Judge the picked finding, after a line for the reason. Raises RundryError where none is picked."""
        finding = self.board.finding
        if finding is None:
            raise RundryError(NO_FINDING)
        verb, hint = _ASKS[verdict]
        key, title = finding.key, finding.title

        def judged(reason: str) -> BoardPanel.Asked:
            done = {"confirmed": "confirmed", "refuted": "refuted", "evidence": "sent back"}[verdict]
            return self.Asked(Judge(key=key, verdict=verdict, reason=reason), f"{done}: {title}")

        self._then = judged
        self._line.ask(verb, title, hint)

    def merge(self) -> str:
        """Marks the picked finding, or merges the marked one into it; a word for the person. Raises RundryError."""
        board = self.board
        finding = board.finding
        if finding is None:
            raise RundryError(NO_FINDING)
        marked, board.marked = board.marked, None
        if marked is None:
            board.marked = finding.key
            board.draw()
            return "select the finding that it duplicates, then press m; esc cancels"
        board.draw()
        if marked == finding.key:
            return "not merged"
        self.post_message(self.Asked(Merge(key=marked, into=finding.key), f"merged into {finding.title}"))
        return ""

    def skip(self) -> None:
        """Nobody shall work the picked item of the queue. Raises RundryError where none is picked."""
        board = self.board
        if board.view.tab != "queue" or board.picked is None:
            raise RundryError("select an item of the queue first: press 3 to list it")
        self.post_message(self.Asked(SkipItem(key=board.picked), f"skipped {board.picked}"))

    def add_item(self, argument: str) -> None:
        """`url https://…`. Raises RundryError."""
        kind, _, value = argument.partition(" ")
        if not value.strip():
            raise RundryError(f"/item {argument}: use /item url ADDRESS, /item file PATH or /item value TEXT")
        self.post_message(self.Asked(AddItem(kind=kind, value=value.strip()), f"added {value.strip()}"))

    def add_lens(self, argument: str) -> None:
        """`NAME how it looks`. Raises RundryError."""
        name, _, prompt = argument.partition(" ")
        if not prompt.strip():
            raise RundryError(f"/lens {argument}: use /lens NAME PROMPT")
        self.post_message(
            self.Asked(AddLens(name=name, prompt=prompt.strip()), f"lens {name} starts with the next pass")
        )

    def sent(self, command_id: int) -> None:
        """It went into the inbox under this id."""
        self._sent.add(command_id)

    def refusals(self, state: ViewState) -> list[str]:
        """Why the runner refused what was asked from here; each is told once."""
        answered = [number for number in self._sent if number in state.refused]
        self._sent.difference_update(answered)
        return [state.refused[number] for number in answered]

    def on_ask_line_dropped(self, message: AskLine.Dropped) -> None:
        """Nothing is done; the focus stays where the person took it."""
        message.stop()
        self._then = None

    def on_ask_line_given(self, message: AskLine.Given) -> None:
        """Done, or left."""
        message.stop()
        then, self._then = self._then, None
        self._line.display = False
        self.board.come_back()
        if message.reason is not None and then is not None:
            self.post_message(then(message.reason))
