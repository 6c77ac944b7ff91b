"""The middle of the screen before a run has begun."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from ..keys.marking import moves
from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line
from .first_choices import Choice, Row, Section, Try, UseModel, continue_section, model_section, task_section

if TYPE_CHECKING:
    from rundry.agent import RunLine, Survey

    from ..control.run_controller import RunController
    from ..control.run_link import Start

INDENT = 2
GAP = 3


class Welcome(Widget):
    """Sections of rows; one row is marked. Keys come from the message box while it is empty."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; padding: 0 1; }
    """

    class Taken(Message):
        """The person took a row."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, controller: RunController) -> None:
        super().__init__()
        self._controller = controller
        self._survey: Survey | None = None
        self._unfinished: Sequence[RunLine] = ()
        self._sections: list[Section] = []
        self._mark = 0
        self._drawn: tuple[object, ...] = ()
        self._lines: list[int | None] = []
        """For each painted line the number of its row, or None if the line cannot be taken."""

    def on_mount(self) -> None:
        """Look for models and for runs of this folder."""
        start = self._controller.start
        if start is not None and not self._controller.begun:
            self._build()
            self.run_worker(self._look(start), exit_on_error=False)

    async def _look(self, start: Start) -> None:
        self._unfinished = await start.unfinished()
        self._build()
        self._survey = await start.survey()
        self._build()

    def _build(self) -> None:
        start = self._controller.start
        if start is None:
            return
        shown = keymap_of(self).shown
        found = [
            model_section(self._survey, start.model, shown("model")),
            continue_section(self._unfinished, time.time(), shown("pause"), shown("sessions")),
        ]
        taken = self._rows[self._mark].choice if self._mark else None
        self._sections = [section for section in (*found, task_section(start.workspace)) if section is not None]
        self._mark = next((n for n, row in enumerate(self._rows) if row.choice == taken), 0)
        self.refresh()

    @property
    def _rows(self) -> list[Row]:
        return [row for section in self._sections for row in section.rows]

    @property
    def survey(self) -> Survey | None:
        """The models and servers that were found, or None if the search has not ended."""
        return self._survey

    def show(self, *, wanted: bool) -> None:
        """Redraw if something changed. `wanted`: nothing else is shown in the middle."""
        self.display = wanted
        start = self._controller.start
        goals = tuple(self._controller.state.goals)
        notes = tuple(start.notes) if wanted and start is not None else ()
        now = (self._controller.begun, self._controller.status.is_gone, start and start.model, goals, notes)
        if wanted and now != self._drawn:
            self._drawn = now
            self._build()

    @property
    def offers_choices(self) -> bool:
        """Whether the keys of an empty message box move the mark."""
        return bool(self._sections) and self.display and not self._controller.begun

    def press(self, name: str) -> None:
        """Move the selection, or take the selected row, as an action of a list does."""
        if name == "take":
            self._take(self._mark)
        else:
            last = len(self._rows) - 1
            self._mark = max(0, min(last, self._mark + moves(name, len(self._rows))))
        self.refresh()

    def row_of(self, number: str) -> Choice | None:
        """Return the choice with this number, or None. `F7` as a text is a message."""
        if not (self.offers_choices and number.isdigit()):
            return None
        return next((row.choice for row in self._rows if row.key == number), None)

    def needed_model(self, text: str) -> UseModel | None:
        """Return the model that a first message is sent to if none is chosen: the marked one, or the first listed."""
        start = self._controller.start
        if start is None or start.model is not None or text.startswith(("/", "!")) or not self.offers_choices:
            return None
        marked = self._rows[self._mark].choice
        rows = [marked, *(row.choice for row in self._rows)]
        return next((choice for choice in rows if isinstance(choice, UseModel)), None)

    def check_of(self, task: str) -> str:
        """Return the check of a listed task if the text is exactly that task, else an empty string."""
        tries = (row.choice for row in self._rows if isinstance(row.choice, Try))
        return next((each.check for each in tries if each.task == task.strip()), "") if self.offers_choices else ""

    def _take(self, number: int) -> None:
        if number < len(self._rows):
            self._mark = number
            self.post_message(self.Taken(self._rows[number].choice))

    def on_click(self, event: events.Click) -> None:
        """Take the clicked row."""
        number = self._lines[event.y] if 0 <= event.y < len(self._lines) else None
        if number is not None and self.offers_choices:
            self._take(number)
            self.refresh()

    def render(self) -> Content:
        """Return the sections, or what a run that has just begun waits for."""
        start = self._controller.start
        if start is None:
            return Content("")
        rows = [Content.styled(one_line(note), "$verdict-partly") for note in start.notes]
        rows += self._check()
        self._lines = [None] * len(rows)
        if self._controller.begun:
            rows.append(self._waiting(start))
        else:
            self._add_sections(rows)
        return Content("\n").join(rows)

    def _check(self) -> list[Content]:
        """Return the line about the check that decides when the next task is done."""
        goals = self._controller.state.goals
        if not goals:
            return []
        command = Content(one_line(" and ".join(goals)))
        before, after = f"{' ' * INDENT}Done when  ", "  passes   /until none removes it"
        room = max(12, self.size.width - len(before) - len(after))
        command = command.stylize("bold $bright").truncate(room, ellipsis=True)
        line = Content.assemble((before, "$dim"), command, (after, "$dim"))
        return [line.truncate(self.size.width, ellipsis=True)]

    def _waiting(self, start: Start) -> Content:
        if self._controller.status.is_gone:
            log = one_line(str(start.folder / "runner.log"))
            return Content.styled(f"the runner failed to start: {log}", "$dim")
        return Content.styled("the runner is starting; what you type is kept", "$dim")

    def _add_sections(self, rows: list[Content]) -> None:
        number = 0
        room = self.size.height - sum(len(section.rows) for section in self._sections) - len(rows)
        loose = room >= sum(2 + bool(section.note) for section in self._sections)
        for section in self._sections:
            if rows and loose:
                self._add(rows, Content(""), None)
            columns = self._columns(section)
            self._add(rows, self._title(section, *columns), None)
            for row in section.rows:
                self._add(rows, self._row(row, section, *columns, is_marked=number == self._mark), number)
                number += 1
            if section.note:
                note = Content.styled(" " * (INDENT + 5) + one_line(section.note), "$dim")
                self._add(rows, note.truncate(self.size.width, ellipsis=True), None)

    def _add(self, rows: list[Content], line: Content, number: int | None) -> None:
        rows.append(line)
        self._lines.append(number)

    def _columns(self, section: Section) -> tuple[int, list[int]]:
        """Return the width of the labels, and of each column of cells for which there is room."""
        widths = [max(_width(each.cells[n : n + 1]) for each in section.rows) for n in range(_most(section))]
        heads = zip(widths, section.heads, strict=False)
        widths[: len(section.heads)] = [max(width, len(head)) if width else 0 for width, head in heads]
        longest = min(max(_width([each.label]) for each in section.rows), self.size.width // 2)
        while widths and self._room(widths) < longest:
            widths.pop()
        return max(8, min(max(_width([each.label]) for each in section.rows), self._room(widths))), widths

    def _title(self, section: Section, room: int, widths: Sequence[int]) -> Content:
        """Return the title of a section, with the headings of its columns."""
        title = (" " * INDENT + section.title).ljust(INDENT + 5 + room)
        heads = [" " * GAP + head.rjust(width) for head, width in zip(section.heads, widths, strict=False) if width]
        return Content.styled((title + "".join(heads)).rstrip(), "$dim")

    def _row(self, row: Row, section: Section, room: int, widths: Sequence[int], *, is_marked: bool) -> Content:
        start = self._controller.start
        is_chosen = isinstance(row.choice, UseModel) and start is not None and row.choice.model == start.model
        label = Content.styled(one_line(row.label), "bold $bright" if is_marked or is_chosen else "$foreground")
        parts: list[str | tuple[str, str] | Content] = [
            ("▸ " if is_marked else "  ", "$needs-you"),
            (row.key.ljust(2), "$dim"),
            " ",
            label.truncate(room, ellipsis=True, pad=True),
        ]
        heads = [*section.heads, *[""] * len(row.cells)]
        for cell, width, head in zip(row.cells, widths, heads, strict=False):
            text = Content.styled(one_line(cell), "$dim")
            parts += (
                [" " * GAP, text.pad_left(width - text.cell_length) if head else text.truncate(width, pad=True)]
                if width
                else []
            )
        return Content.assemble(" " * INDENT, *parts).truncate(self.size.width, ellipsis=True)

    def _room(self, widths: Sequence[int]) -> int:
        """Return the cells left for the label."""
        return self.size.width - INDENT - 5 - sum(widths) - GAP * len(widths)

    def on_resize(self) -> None:
        """Fit the columns."""
        self.refresh()


def _most(section: Section) -> int:
    return max(len(row.cells) for row in section.rows)


def _width(texts: Sequence[str]) -> int:
    return sum(Content(one_line(text)).cell_length for text in texts)
