"""The last rows of the board: what the search waits for, what the critic reports, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import LimitName, Reason, RunEnded, end_word, noun_for, reached_limit

from ...lines.draw import fold, width_of
from ...text import one_line
from .cells import Row, blank, foreign, grouped, left, since

if TYPE_CHECKING:
    from ..board_data import BoardData

_FIXES: dict[LimitName | None, str] = {
    "tokens": "/limit tokens N",
    "usd": "/limit usd N",
    "seconds": "/limit time 1h",
    "deadline": "/limit deadline 1h",
}


def bottom(data: BoardData, width: int, height: int) -> list[Row]:
    """Return at most `height` rows, the most important one first."""
    state, palette = data.state, data.palette
    if state.outcome is not None:
        rows = _ended(data, state.outcome, width)
        return rows if len(rows) <= height else [*rows[: height - 1], rows[-1]]  # the next step is always shown
    if data.is_over:
        words = [("runner gone", palette.verdict_partly), ("  it was not at its end", palette.dim)]
        return [words, _next(data, "")][:height]
    if state.paused:
        until = "you press {pause} to resume" if data.acts else "it is resumed"
        way = data.keymap.named(f"   no new work starts until {until}")
        return [[("paused", palette.bright), (way, palette.dim)]][:height]
    return [row for row in (_asks(data, width), _waits(data), _critic(data)) if row][:height]


def _asks(data: BoardData, width: int) -> Row:
    """Return the question that waits for an answer, in one row; the transcript shows it in full, with its options."""
    question, palette = data.state.question, data.palette
    if question is None:
        return []
    key: Row = [(f"   {data.keymap.shown('board')}", palette.bright), (" shows it", palette.dim)]
    asked: Row = [("asks", palette.verdict_partly), blank(3), (one_line(question.question), palette.code)]
    return [*left(asked, width - width_of(key)), *key]


def _waits(data: BoardData) -> Row:
    palette, facts = data.palette, data.facts
    if facts.flights:
        return []
    if data.next_due is not None and data.next_due > data.now and facts.queued <= data.waiting:
        in_ = since(data.next_due - data.now + 0.999)
        return [("waits", palette.bright), (f"   retry of the next item in {in_}", palette.dim)]
    due = [lens.due for lens in facts.lenses.values() if lens.failures and lens.failed is None and lens.due > data.now]
    if due:
        in_ = since(min(due) - data.now + 0.999)
        return [("waits", palette.bright), (f"   retry of a failed lens in {in_}", palette.dim)]
    return []


def _critic(data: BoardData) -> Row:
    critic = data.facts.critic
    palette = data.palette
    if critic is None or not critic.text:
        return []
    style = palette.bright if critic.lenses else palette.dim
    return [("critic  ", palette.dim), *foreign(critic.text, style, palette)]


def _ended(data: BoardData, outcome: RunEnded, width: int) -> list[Row]:
    """Return `dry, not complete`, each gap in a row of its own, and the next steps."""
    palette = data.palette
    is_dry = outcome.reason is Reason.DRY
    word = end_word(outcome)
    if is_dry:
        word = "dry" if outcome.complete else "dry, not complete"
    style = palette.verdict_good if outcome.complete else palette.verdict_partly
    sign = "✓ " if outcome.complete else "~ "
    how, *rest = outcome.detail.split("; ") if is_dry else [outcome.detail]
    gaps = rest[1:] if is_dry else _open(data)
    gap_rows: list[Row] = [[blank(2), *foreign(gap, palette.verdict_partly, palette)] for gap in gaps]
    if data.has_end_panel:
        return [] if is_dry else gap_rows  # the panel has the detail, which names the gaps of a dry search
    head: Row = [(sign + word, style), blank(3), *foreign(how, palette.code, palette)]
    first, *more = fold(head, width)
    rows: list[Row] = [list(first), *([blank(len(sign + word) + 3), *row] for row in more)]
    rows += gap_rows
    if not outcome.complete or data.facts.findings or not data.by_lenses:
        rows.append(_next(data, "" if outcome.complete else _fix(outcome)))
    return rows


def _open(data: BoardData) -> list[str]:
    facts = data.facts
    waits = f"{grouped(facts.queued)} {noun_for(facts.queued, 'item')} {'waits' if facts.queued == 1 else 'wait'}"
    found = [f"{waits} in the queue"] if facts.queued else []
    if facts.set_aside:
        found.append(f"{grouped(facts.set_aside)} {noun_for(facts.set_aside, 'item')} failed permanently")
    return found


def _fix(outcome: RunEnded) -> str:
    return _FIXES.get(reached_limit(outcome), "/limit steps N") if outcome.reason is Reason.BUDGET else ""


def _next(data: BoardData, fix: str) -> Row:
    palette, outcome = data.palette, data.state.outcome
    row: Row = [("next  ", palette.dim)]
    if fix:
        row += [(fix, palette.bright), (" to continue   or ", palette.dim)]
    if outcome is None or not outcome.complete:
        row += [(f"rundry resume {one_line(data.state.run_id)}", palette.bright)]
        row += [] if fix else [(" to continue", palette.dim)]
    else:
        row += [(data.keymap.shown("to_gate"), palette.bright), (" goes through what was found", palette.dim)]
    return row
