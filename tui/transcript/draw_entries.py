"""The parts of each kind of block in the transcript, with the columns to the left of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rich.style import Style
from textual.strip import Strip

from rundry.agent import plural, try_label

from ..diff.renderer import DiffRenderer
from ..diff.unified import diff_of_text
from ..lines.draw_runs import fold, marked, to_strip, width_of
from ..lines.line_parts import Part
from ..text.show_text import one_line, show, strip
from .draw_markdown import MEASURE, draw_code, draw_markdown
from .headline import duration, fact_runs, headline, seconds_field, title_runs
from .markdown_pieces import Pieces

if TYPE_CHECKING:
    from rundry.agent import Block

    from ..lines.draw_runs import Run
    from ..theme.theme import Palette
    from .draw_markdown import Rows
    from .markdown_pieces import Piece

MARGIN = 6
"""Width of the gutter: a cursor, the number of the step, two blanks."""
_SIGNS = {"task": "›", "say": "›", "steer": "»", "question": "?"}
_MESSAGES = ("task", "say", "steer")
"""Kinds of blocks that a person wrote."""
_LONG_LINES, _LONG_TEXT = 12, 1_200
"""Lines, and characters, from which a message is folded."""
_HEAD, _TAIL = 4, 2
"""Rows of a folded message that are shown of its begin and of its end."""
_SAID = ("task", "say", "steer", "question")
_APART = (*_SAID, "outcome")
LINE = 120
_DETAIL_LINES = 40
_LIVE_REASONING = 3
_TALL = 240
_T = TypeVar("_T")


class Entries:
    """Draws blocks for one width and one theme. Parts are drawn when they become visible."""

    def __init__(self, width: int, palette: Palette) -> None:
        self.width = width - MARGIN - 1
        """Width of the text in cells: right of the gutter, with one blank before the scroll bar."""
        self.line = min(self.width, LINE)
        """Width of a headline in cells. In a wide window it is shorter, so that facts are near what they describe."""
        self.prose = min(self.width, MEASURE)
        self.palette = palette

    def build(self, block: Block, before: Block | None, *, is_open: bool) -> list[Part]:
        """Return the parts of a block that follows `before`."""
        gutter = _gutter_of(block, before, self.palette)
        lead = self._lead(block, before)
        match block.kind:
            case "text":
                body = self._markdown(block, Pieces())
            case "reasoning":
                body = self._reasoning(block, is_open=is_open)
            case "task" | "say" | "steer" | "question":
                body = [self._said(block, is_open=is_open)]
            case "outcome":
                body = self._outcome(block)
            case "note" | "prompted" | "unknown" | "stall" | "fault":
                body = self._remark(block, is_open=is_open)
            case _:
                body = self._happened(block, is_open=is_open)
        return [*lead, *_with_gutter(body, gutter)]

    def grown(self, block: Block, before: Block | None, pieces: Pieces, kept: list[Part]) -> list[Part]:
        """Return the parts of a growing text. `kept` has those that will not change again, and is extended."""
        gutter = _gutter_of(block, before, self.palette)
        lead = self._lead(block, before)
        tail = pieces.feed(block.text)
        for index in range(len(kept), len(pieces.done)):
            kept.extend(_with_gutter([self._piece(pieces.done[index], index)], gutter if index == 0 else None))
        if tail is None:
            return [*lead, *kept]
        growing = _with_gutter([self._piece(tail, len(kept), grows=True)], gutter if not kept else None)
        return [*lead, *kept, *growing]

    def _lead(self, block: Block, before: Block | None) -> list[Part]:
        """Return what is shown above a block: a blank line, and above the blocks of a try its name."""
        lead = [_given([Strip.blank(MARGIN)])] if _stands_apart(block, before) else []
        who = try_label(block.work) if block.kind in ("text", "reasoning") else ""
        if who:
            lead += _with_gutter([self._rows(lambda: [[(who, self.palette.dim)]], 1)], None)
        return lead

    def _markdown(self, block: Block, pieces: Pieces) -> list[Part]:
        pieces.feed(block.text, whole=True)
        parts = [self._piece(piece, index) for index, piece in enumerate(pieces.done)]
        if block.status == "cut":
            parts.append(self._rows(lambda: [[("~ cut off", self.palette.verdict_partly)]], 1))
        return parts or [self._rows(lambda: [[]], 1)]

    def _piece(self, piece: Piece, index: int, *, grows: bool = False) -> Part:
        def draw() -> Rows:
            gap: Rows = [[]] if index and not piece.joined else []
            if piece.language is not None:
                return gap + draw_code(piece.source.split("\n"), piece.language, self.width, self.palette)
            return gap + draw_markdown(piece.source, self.width, self.palette, grows=grows)

        return self._rows(draw, _guess(piece.source, self.prose) + bool(index))

    def _reasoning(self, block: Block, *, is_open: bool) -> list[Part]:
        quiet = self.palette.dim + Style(italic=True)
        if is_open:
            return [
                self._line(block, [("thought", self.palette.dim)], []),
                *self._wrapped(block.text, quiet, width=min(self.width - 2, MEASURE)),
            ]
        if not block.live:
            words = [("thought  ", self.palette.dim), *self._marked(" ".join(block.text.split()), self.palette.faint)]
            return [self._line(block, words, [])]

        def tail() -> Rows:
            rows: Rows = []
            for line in show(block.text[-self.width * (_LIVE_REASONING + 1) :]).split("\n"):
                rows += fold(self._marked(line, quiet), self.prose) if line.strip() else []
            return [[("thinking", self.palette.bright)], *rows[-_LIVE_REASONING:]]

        return [self._rows(tail, 1 + _LIVE_REASONING)]

    def _said(self, block: Block, *, is_open: bool) -> Part:
        style = self.palette.needs_you if block.kind == "question" else self.palette.person
        waits = block.kind == "question" and block.status == "waiting"
        folds = is_folded(block) and not is_open

        def draw() -> Rows:
            rows: Rows = []
            for line in show(block.text).strip("\n").split("\n"):
                rows += fold(self._marked(line, style), self.prose)
            if folds and (hidden := len(rows) - _HEAD - _TAIL) > 1:
                rows[_HEAD:-_TAIL] = [[(f"⋯ {plural(hidden, 'more line')}", self.palette.dim)]]
            if waits:
                rows.append([("waiting for you", self.palette.cursor)])
            elif block.right:
                rows += fold(self._marked(one_line(block.right), self.palette.dim), self.prose)
            return rows

        return self._rows(draw, _HEAD + _TAIL + 1 if folds else _guess(block.text, self.width))

    def _outcome(self, block: Block) -> list[Part]:
        reason, _, detail = one_line(block.title).partition("  ")
        sign, style = {
            "passed": ("✓ ", self.palette.verdict_good),
            "ok": ("✓ ", self.palette.verdict_good),
            "failed": ("✗ ", self.palette.verdict_bad),
        }.get(block.status, ("~ ", self.palette.verdict_partly))
        words = [(sign + reason, style + Style(bold=True)), ("  ", style), *self._marked(detail, Style.null())]
        answer = self._markdown(block, Pieces()) if block.text else []
        facts = self._marked(one_line(block.right), self.palette.dim)
        if width_of(words) + width_of(facts) + seconds_field(self.line) + 2 <= self.line:
            return [self._line(block, words, facts), *answer]
        rows = [*fold(words, self.prose, hang=len(sign)), *(fold(facts, self.prose) if facts else [])]
        return [self._rows(lambda: rows, len(rows)), *answer]

    def _remark(self, block: Block, *, is_open: bool) -> list[Part]:
        """Return the parts of a message of the program itself: wrapped, never cut."""
        sign, style = {
            "fault": ("✗ ", self.palette.verdict_bad),
            "stall": ("~ ", self.palette.verdict_partly),
        }.get(block.kind, ("", self.palette.dim))
        title = self._marked(sign + one_line(block.title), style) if block.title else []
        text = self._marked(show(block.text).replace("\n", " "), self.palette.dim if not sign else Style.null())
        words = [*title, ("  ", style), *text] if title and text else title or [(sign, style), *text]
        who = try_label(block.work)
        if who and not block.text.startswith(who):
            words = [(f"{who}  ", self.palette.dim), *words]
        facts = self._marked(one_line(block.right), self.palette.dim)
        if width_of(words) + width_of(facts) + seconds_field(self.line) + 2 <= self.line:
            return [self._line(block, words, facts), *(self._detail(block) if is_open else [])]
        rows = [*fold(words, self.prose, hang=len(sign)), *(fold(facts, self.prose) if facts else [])]
        return [self._rows(lambda: rows, len(rows)), *(self._detail(block) if is_open else [])]

    def _happened(self, block: Block, *, is_open: bool) -> list[Part]:
        """Return the parts of a call, an edit, a command or a check: one line, with its output folded."""
        title, facts = title_runs(block, self.palette), fact_runs(block, self.palette)
        parts = [self._line(block, title, facts)]
        if not is_open:
            return parts
        is_cut = width_of(title) + width_of(facts) + seconds_field(self.line) + 2 > self.line
        if is_cut or "\n" in block.title:
            parts += self._wrapped(block.title, Style.null(), words=False)  # a command is copied
        return parts + self._detail(block)

    def _detail(self, block: Block) -> list[Part]:
        if not block.has_detail:
            return []
        if block.detail_kind == "diff":
            path = block.title.split("  ")[0].partition(" ")[2]
            return self._diff(DiffRenderer(diff_of_text(path, block.whole_detail)))
        if block.detail_kind == "json":
            lines = _pretty(block.whole_detail).split("\n")
            return [
                self._rows(partial(draw_code, chunk, "json", self.width, self.palette), len(chunk))
                for chunk in _chunks(lines)
            ]
        return self._wrapped(block.whole_detail, self.palette.dim, log=block.kind in ("command", "check"))

    def _diff(self, renderer: DiffRenderer) -> list[Part]:
        def draw(rows: list[int]) -> Rows:
            drawn = [line for row in rows for line in renderer.draw(row, self.width - 2, self.palette, {})]
            return _set_in(drawn)

        return [self._rows(partial(draw, chunk), len(chunk)) for chunk in _chunks(list(range(len(renderer.diff.rows))))]

    def _wrapped(
        self, text: str, style: Style, *, words: bool = True, log: bool = False, width: int | None = None
    ) -> list[Part]:
        """Return the parts of raw text, indented by two. `words`: broken between words."""
        width = width or self.width - 2

        def draw(lines: list[str]) -> Rows:
            rows: Rows = []
            for line in (strip if log else show)("\n".join(lines)).split("\n"):
                rows += fold(self._marked(line, style), width, words=words)
            return _set_in(rows)

        return [
            self._rows(partial(draw, chunk), sum(1 + len(line) // width for line in chunk))
            for chunk in _chunks(text.rstrip("\n").split("\n"))
        ]

    def _line(self, block: Block, left: list[Run], facts: list[Run]) -> Part:
        row = headline(left, facts, duration(block.seconds), self.line, self.palette.faint)
        return self._rows(lambda: [row], 1)

    def _rows(self, draw: Callable[[], Rows], guess: int) -> Part:
        blank: Run = (" " * MARGIN, Style.null())
        return Part(lambda: [to_strip([blank, *row]) for row in draw()], guess)

    def _marked(self, text: str, style: Style) -> list[Run]:
        return marked(show(text), style, self.palette.mark)


def can_unfold(block: Block) -> bool:
    """Return whether the block has a folded part."""
    if block.kind == "reasoning":
        return bool(block.text)
    if is_folded(block):
        return True
    return block.has_detail and block.kind not in ("text", "outcome", *_SAID)


def is_folded(block: Block) -> bool:
    """Return whether a message is so long that only its begin and its end are shown: something was pasted into it."""
    return block.kind in _MESSAGES and (block.text.count("\n") >= _LONG_LINES or len(block.text) > _LONG_TEXT)


def guess(block: Block, width: int) -> int:
    """Return the estimated number of lines of a block: right for most, and fast for all."""
    if is_folded(block):
        return _HEAD + _TAIL + 2
    return 1 if block.kind not in ("text", *_APART) else _guess(block.text, max(20, width - MARGIN)) + 1


def _guess(text: str, width: int) -> int:
    return 1 + text.count("\n") + len(text) // width


def _stands_apart(block: Block, before: Block | None) -> bool:
    if before is None:
        return False
    if block.kind in _APART or before.kind in _SAID:
        return True
    return (block.kind == "text" and _is_tall(block)) or (before.kind == "text" and _is_tall(before))


def _is_tall(block: Block) -> bool:
    return len(block.text) > _TALL or "\n" in block.text.strip()


def _given(rows: list[Strip]) -> Part:
    return Part(lambda: rows, len(rows))


def _set_in(rows: Rows) -> Rows:
    return [[("  ", Style.null()), *row] for row in rows]


def _chunks(items: list[_T]) -> list[list[_T]]:
    return [items[at : at + _DETAIL_LINES] for at in range(0, len(items), _DETAIL_LINES)]


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _gutter_of(block: Block, before: Block | None, palette: Palette) -> list[Run] | None:
    """Return the symbol or the number of the step for the first row of a block, or None if it stays blank."""
    if block.kind in _SIGNS:
        style = palette.needs_you if block.kind == "question" else palette.cursor
        return [(f"   {_SIGNS[block.kind]}  ", style)]
    if block.step is None or (before is not None and before.step == block.step and before.kind not in _SIGNS):
        return None
    number = str(block.step)
    return [((number.rjust(4) + "  ") if len(number) < 5 else number + " ", palette.faint)]


def _with_gutter(parts: list[Part], gutter: list[Run] | None) -> list[Part]:
    """Return the parts with this gutter in the first row."""
    if gutter is None or not parts:
        return parts
    first = parts[0]

    def draw() -> list[Strip]:
        rows = first.rows
        if not rows:
            return []
        return [Strip.join([to_strip(gutter), rows[0].crop(MARGIN)]), *rows[1:]]

    return [Part(draw, first.guess), *parts[1:]]
