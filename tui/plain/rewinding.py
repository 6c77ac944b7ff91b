"""Rewind a run in words: list the points with numbers, then ask for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rundry.agent import Point, Rewind, RundryError

from ..handlers.conversation import step_title
from ..text import one_line

if TYPE_CHECKING:
    from ..run_controller import RunController

MOST = 12
"""Points that are listed, the newest ones."""
_TITLE = 60


class Rewinding:
    """Handles `/rewind`, which restores the files and the conversation of an earlier point."""

    def __init__(
        self,
        controller: RunController,
        say: Callable[[str], None],
        ask: Callable[[str, Callable[[str], None]], None],
    ) -> None:
        self._controller, self._say, self._ask = controller, say, ask

    def rewind(self, argument: str) -> None:
        """List the points, or rewind to the one of that number. Raises RundryError."""
        controller = self._controller
        if not controller.begun:
            raise RundryError("there is no run yet: type a task")
        if controller.state.activity:
            raise RundryError("a step is running: press Control+C to interrupt it first")
        points = controller.reader.points()[-MOST:]
        if not points:
            raise RundryError("there is no earlier message")
        if argument:
            self._go(points, argument)
            return
        for number, point in enumerate(points, 1):
            self._say(f"{number}: before {self._title(point)}")
        question = "Type the number to go back to. The files are restored. Any other word changes nothing."
        self._ask(question, lambda word: self._answered(points, word))

    def _title(self, point: Point) -> str:
        said = point.text if point.text is not None else step_title(self._controller.state.blocks, point)
        text = one_line(said)
        text = text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"
        return f"your message: {text}" if point.text is not None else f"step {point.step}: {text}".rstrip(": ")

    def _answered(self, points: Sequence[Point], word: str) -> None:
        if word.isdecimal():
            self._go(points, word)
        else:
            self._say("nothing was changed")

    def _go(self, points: Sequence[Point], number: str) -> None:
        if not number.isdecimal() or not 1 <= int(number) <= len(points):
            raise RundryError(f"/rewind {number}: type /rewind, then a number from 1 to {len(points)}")
        point = points[int(number) - 1]
        self._controller.put_anywhere(Rewind(seq=point.seq))
        if point.text is not None and not self._controller.is_the_task(point.text):
            self._say(f"Your message was: {one_line(point.text)}")
