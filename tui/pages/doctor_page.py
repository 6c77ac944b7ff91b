"""Show what `rundry doctor` checks: folders, sandbox, models, and what is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from rundry.agent import RundryError

from ..text.show_text import one_line
from .picker import Picker
from .picker_rows import PickRow

if TYPE_CHECKING:
    from ..start.machine_checkup import Checkup

_NAME = 11


class DoctorPicker(Picker[str]):
    """The checks, each in a row; what is missing comes first. It only shows them."""

    title_text = "Doctor"
    hint = "type to search"

    def __init__(self, checkup: Awaitable[Checkup]) -> None:
        """`checkup` looks at this machine when it is awaited, which can take seconds. It may raise RundryError."""
        super().__init__()
        self._checkup = checkup
        self._found: Checkup | None = None
        self._failed = ""

    def on_mount(self) -> None:
        """Start the checks."""
        super().on_mount()
        self.run_worker(self._look(), exit_on_error=False)

    async def _look(self) -> None:
        try:
            self._found = await self._checkup
        except RundryError as error:
            self._failed = str(error)
        self.draw()

    def rows(self, wanted: str) -> Sequence[PickRow[str]]:
        """Return a row for each line that contains each word."""
        if self._found is None:
            text = f"not checked: {one_line(self._failed)}" if self._failed else "checking this machine…"
            return [PickRow(Content.styled(text, "$verdict-bad" if self._failed else "$dim"))]
        words = wanted.casefold().split()
        problems = [
            PickRow(Content.styled(f"!  {one_line(line)}", "$verdict-partly"), line) for line in self._found.problems
        ]
        if not problems:
            problems = [PickRow(Content.styled("✓  nothing is missing", "$verdict-good"), "nothing is missing")]
        lines = [PickRow(_row(line), line) for line in self._found.lines]
        found = [row for row in (*problems, *lines) if all(word in (row.value or "").casefold() for word in words)]
        return found or [PickRow(Content.styled("no line has this text", "$dim"))]

    def about(self, marked: str | None) -> Content:
        """Return the selected line in full."""
        return Content(one_line(marked or ""))

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the keys of the footer, each with its label."""
        return [("mark_up mark_down", "select"), ("close_dialog", "close")]

    def pick(self) -> None:
        """Do nothing: the page only shows."""


def _row(line: str) -> Content:
    name, _, text = line.partition("  ")
    if not text:
        name, _, text = line.partition(" ")
    return Content.assemble((f"{one_line(name):<{_NAME}}", "$dim"), (one_line(text.strip()), "$foreground"))
