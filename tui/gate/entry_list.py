"""The list of entries of a proposal about what a command would change, with a cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style
from textual import events, on
from textual.message import Message

from rundry.agent import entry_change, entry_facts, entry_name, plural

from ..lines.draw_runs import Run, fold, marked, shorten, to_strip, width_of
from ..lines.line_parts import Part, Place
from ..lines.line_view import LineView
from ..text.show_text import one_line, path_line
from .entry_choices import state_of
from .entry_rows import ListRow, list_rows, unfolds

if TYPE_CHECKING:
    from textual.strip import Strip

    from rundry.agent import CommandEffects, EffectEntry

    from ..theme.theme import Palette
    from .entry_choices import EntryState
    from .pending_decision import PendingDecision

_WIDEST = 120
"""Cells of a row: farther away, the counts would not be read together with their file."""
_MARK_ENDS = 7
"""Column up to which a click on a row accepts or skips it."""
_NONE = Style.null()
_BOLD = Style(bold=True)
_SIGNS = {"accepted": "◉", "part": "◐", "skipped": "○", "conflict": "✗"}
_LEAST_NAME = 16
"""Cells that a name keeps when the facts next to it are shortened."""
_INDENT = 5
"""Cells before a name: the cursor and the mark."""


class EntriesPane(LineView, can_focus=False):
    """Shows the entries. It never has the focus: the panel drives it."""

    class EndSeen(Message):
        """The last row became visible."""

    class Clicked(Message):
        """The person clicked on a row; `is_mark`: on its mark."""

        def __init__(self, *, is_mark: bool, is_current: bool) -> None:
            super().__init__()
            self.is_mark, self.is_current = is_mark, is_current

    def __init__(self) -> None:
        super().__init__()
        self._effects: CommandEffects | None = None
        self._pending: PendingDecision | None = None
        self._listed: list[ListRow] = []
        self._columns = _Columns(0, 0)
        self._was_end_seen = False

    def show(self, effects: CommandEffects, pending: PendingDecision) -> None:
        """Show these entries with the person's choices, at the row that has the cursor."""
        if effects != self._effects:
            self._was_end_seen = False
        self._effects, self._pending = effects, pending
        self._list_again()
        self._keep_cursor_visible()

    @property
    def rows(self) -> Sequence[ListRow]:
        """The rows from top to bottom."""
        return self._listed

    @property
    def current(self) -> ListRow | None:
        """The row with the cursor."""
        at = self._at_cursor()
        return None if at is None else self._listed[at]

    @property
    def shows_end(self) -> bool:
        """Whether the last row is visible now."""
        return bool(self.lines) and self.lines[-1].place.item == len(self._listed) - 1

    def update(self) -> None:
        """Draw the choices again; rows below an entry may come or go."""
        self._list_again()
        self._keep_cursor_visible()

    def move(self, by: int) -> None:
        """Move the cursor by this number of rows that can have it; it stays within the list."""
        places = [at for at, row in enumerate(self._listed) if row.key]
        now = self._at_cursor()
        if now is None or self._pending is None:
            return
        to = min(max(0, places.index(now) + by), len(places) - 1)
        self._pending.entries.row = self._listed[places[to]].key
        self.redraw(now)
        self.redraw(places[to])
        self.repaint()
        self._keep_cursor_visible()

    def page(self, direction: int) -> None:
        """Move by about a page."""
        self.move(direction * max(1, self.size.height - 2))

    def build(self, item: int) -> list[Part]:
        """Return the lines of a row."""
        effects, pending = self._effects, self._pending
        if effects is None or pending is None or item >= len(self._listed):
            return [Part(lambda: [to_strip([(" ", self.palette.dim)])], 1)]
        row = self._listed[item]

        def draw() -> list[Strip]:
            lines = _draw_row(
                effects,
                row,
                self._columns,
                lambda at: state_of(effects, pending, at),
                min(self.text_width - 1, _WIDEST),
                self.palette,
                is_current=item == self._at_cursor(),
                is_open=row.key in pending.entries.unfolded,
            )
            return [to_strip(line) for line in lines]

        return [Part(draw, 1)]

    def overlay(self, y: int, strip: Strip) -> Strip:
        """Draw `more below` over the last row until the end was visible."""
        if y != self.size.height - 1 or self._was_end_seen or not self.lines or self.shows_end:
            return strip
        words = to_strip([("  more below ↓ ", self.ground + self.palette.cursor)])
        return strip.join([strip.crop(0, max(0, strip.cell_length - words.cell_length)), words])

    def painted(self) -> None:
        """Remember whether the end was visible."""
        if not self._was_end_seen and self.shows_end:
            self._was_end_seen = True
            self.post_message(self.EndSeen())

    def reshaped(self) -> None:
        """Keep the cursor visible in the new size."""
        self.call_after_refresh(self._keep_cursor_visible)

    def _list_again(self) -> None:
        assert self._effects is not None and self._pending is not None  # `show` set both
        self._listed = list_rows(self._effects, self._pending)
        self._columns = _columns_of(self._effects, self._listed)
        self.replace_items([1] * len(self._listed), margin=0)
        self.repaint()

    def _at_cursor(self) -> int | None:
        """Return the row with the cursor, or None if no row can have it."""
        key = "" if self._pending is None else self._pending.entries.row
        first = None
        for at, row in enumerate(self._listed):
            if row.key and (row.key == key or not key):
                return at
            first = at if first is None and row.key else first
        return first

    def _keep_cursor_visible(self) -> None:
        at, height = self._at_cursor(), self.size.height
        if at is None or height < 1 or not self.lines:
            return
        first, last = self.lines[0].place.item, self.lines[-1].place.item
        is_last = not any(row.key for row in self._listed[at + 1 :])
        if at < first:
            self.go_to(Place(0) if not any(row.key for row in self._listed[:at]) else Place(at))
        elif is_last and not self.shows_end:
            self.action_scroll_end()
        elif at > last or (at == last and not is_last):
            self.go_to(Place(at), above=max(0, height - 2))

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
        if self._pending is None or not 0 <= event.y < len(self.lines):
            return
        item = self.lines[event.y].place.item
        row = self._listed[item] if item < len(self._listed) else None
        if row is None or not row.key:
            return
        event.stop()
        was = self._at_cursor()
        self._pending.entries.row = row.key
        self.update()
        self.post_message(self.Clicked(is_mark=event.x < _MARK_ENDS, is_current=item == was))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The widths of the columns with lines added and removed, in cells."""

    added: int
    removed: int


def _columns_of(effects: CommandEffects, rows: Sequence[ListRow]) -> _Columns:
    """Return the columns that fit all rows."""
    sums = [_sums(effects, row) for row in rows if row.kind in ("entry", "folder")]
    added, removed = (max((len(f"{one[side]:,}") + 1 for one in sums if one[side]), default=0) for side in (0, 1))
    return _Columns(added, removed)


def _draw_row(
    effects: CommandEffects,
    row: ListRow,
    columns: _Columns,
    state: Callable[[int], EntryState],
    width: int,
    palette: Palette,
    *,
    is_current: bool,
    is_open: bool,
) -> list[list[Run]]:
    """Return the lines of a row. `is_open`: it is unfolded. `state` returns what is accepted of an entry."""
    if row.kind in ("note", "line", "along"):
        return _below(row, width, palette, state)
    states = {state(at) for at in row.entries}
    one = states.pop() if len(states) == 1 else "part"
    entry = effects.entries[row.entries[0]]
    is_quiet = one in ("skipped", "conflict")
    sign_style = palette.verdict_bad if one == "conflict" else palette.cursor if is_current else palette.dim
    name_style = palette.bright + _BOLD if is_current else palette.dim if is_quiet else _NONE
    left: list[Run] = [
        (f" {'▸' if is_current else ' '} ", palette.cursor),
        (" " * (2 * row.depth), _NONE),
        (f"{_SIGNS[one]} ", sign_style),
    ]
    name: list[Run] = marked(_name(row, entry), name_style, palette.mark)
    facts = ", ".join(_facts(effects, row))
    counts = _counts(_sums(effects, row), columns, palette)
    if row.kind == "folder" or unfolds(entry):
        name.append((" ⌄" if is_open else " ⋯", palette.faint))
    room = width - width_of(left) - width_of(counts) - 1
    told = shorten(marked(one_line(facts), palette.dim, palette.mark), max(0, room - _LEAST_NAME))
    room -= width_of(told) + (2 if told else 0)
    name = _from_the_end(name, max(4, room))
    gap = max(1, room - width_of(name)) + (2 if told else 0)
    return [[*left, *name, (" " * gap, _NONE), *told, *counts]]


def _name(row: ListRow, entry: EffectEntry) -> str:
    return f"{path_line(row.text)}/" if row.kind == "folder" else one_line(entry_name(entry))


def _facts(effects: CommandEffects, row: ListRow) -> list[str]:
    if row.kind == "folder":
        entries = [effects.entries[at] for at in row.entries]
        found = [plural(len(entries), "file")]
        for change, word in (("added", "new"), ("deleted", "deleted")):
            count = sum(entry.change == change for entry in entries)
            found += [f"{count:,} {word}" if count < len(entries) else f"all {word}"] if count else []
        return found
    entry = effects.entries[row.entries[0]]
    word = entry_change(entry)
    facts = [] if entry.kind == "git" else entry_facts(entry)
    return [*([word] if word and (word != "changed" or not (entry.is_text or facts)) else []), *facts]


def _sums(effects: CommandEffects, row: ListRow) -> tuple[int, int]:
    entries = [effects.entries[at] for at in row.entries]
    return sum(entry.added for entry in entries), sum(entry.removed for entry in entries)


def _counts(sums: tuple[int, int], columns: _Columns, palette: Palette) -> list[Run]:
    found = list[Run]()
    for count, sign, width, style in (
        (sums[0], "+", columns.added, palette.diff_added_sign),
        (sums[1], "−", columns.removed, palette.diff_removed_sign),
    ):
        if width:
            found.append((f"{f'{sign}{count:,}' if count else '':>{width + 2}}", style))
    return found


def _from_the_end(name: list[Run], room: int) -> list[Run]:
    """Shorten a path at its start, because its end tells files apart."""
    if width_of(name) <= room:
        return name
    text, style = name[0]
    rest = name[1:]
    while text and width_of([("…", style), (text, style), *rest]) > room:
        text = text[1:]
    return [("…", style), (text, style), *rest]


def _below(row: ListRow, width: int, palette: Palette, state: Callable[[int], EntryState]) -> list[list[Run]]:
    if row.kind == "along":
        return fold([("   ", _NONE), *marked(one_line(row.text), palette.dim, palette.mark)], width, hang=5)
    is_skipped = bool(row.entries) and state(row.entries[0]) == "skipped"
    style = palette.dim if row.kind == "line" or is_skipped else palette.verdict_partly
    indent = " " * (_INDENT + 2 * row.depth)
    text = row.text
    inner = " " * (len(text) - len(text.lstrip()))
    runs: list[Run] = [(indent + inner, _NONE), *marked(one_line(text.lstrip()), style, palette.mark)]
    return fold(runs, width, hang=len(indent + inner))
