"""Draw the rows of the list of entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from rundry.agent import entry_change, entry_facts, entry_name, plural

from ...lines.draw import Run, fold, marked, shorten, width_of
from ...text import one_line, path_line
from ..decision.entry_rows import unfolds

if TYPE_CHECKING:
    from rundry.agent import CommandEffects, EffectEntry

    from ...theme import Palette
    from ..decision.entries import EntryState
    from ..decision.entry_rows import ListRow

NONE = Style.null()
_BOLD = Style(bold=True)
_SIGNS = {"accepted": "◉", "part": "◐", "skipped": "○", "conflict": "✗"}
_LEAST_NAME = 16
"""Cells that a name keeps when the facts next to it are shortened."""
_INDENT = 5
"""Cells before a name: the cursor and the mark."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of the columns with lines added and removed, in cells."""

    added: int
    removed: int


def columns_of(effects: CommandEffects, rows: Sequence[ListRow]) -> Columns:
    """Return the columns that fit all rows."""
    sums = [_sums(effects, row) for row in rows if row.kind in ("entry", "folder")]
    added, removed = (max((len(f"{one[side]:,}") + 1 for one in sums if one[side]), default=0) for side in (0, 1))
    return Columns(added, removed)


def draw_row(
    effects: CommandEffects,
    row: ListRow,
    columns: Columns,
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
    name_style = palette.bright + _BOLD if is_current else palette.dim if is_quiet else NONE
    left: list[Run] = [
        (f" {'▸' if is_current else ' '} ", palette.cursor),
        (" " * (2 * row.depth), NONE),
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
    return [[*left, *name, (" " * gap, NONE), *told, *counts]]


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


def _counts(sums: tuple[int, int], columns: Columns, palette: Palette) -> list[Run]:
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
        return fold([("   ", NONE), *marked(one_line(row.text), palette.dim, palette.mark)], width, hang=5)
    is_skipped = bool(row.entries) and state(row.entries[0]) == "skipped"
    style = palette.dim if row.kind == "line" or is_skipped else palette.verdict_partly
    indent = " " * (_INDENT + 2 * row.depth)
    text = row.text
    inner = " " * (len(text) - len(text.lstrip()))
    runs: list[Run] = [(indent + inner, NONE), *marked(one_line(text.lstrip()), style, palette.mark)]
    return fold(runs, width, hang=len(indent + inner))
