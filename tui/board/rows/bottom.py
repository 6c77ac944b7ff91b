"""The last rows of the board: what the search waits for, what the critic says, how it ended and what can be done."""

from __future__ import annotations

from rundry.agent import Reason, RunEnded, coverage_words, estimate_words

from ...lines import fold
from ...lines.draw import width_of
from ...text import one_line
from ..look import Look
from .cells import Row, blank, foreign, grouped, left, since

_MENDS = (("token", "/limit tokens N"), ("cost", "/limit usd N"), ("time", "/limit time 1h"))


def bottom(look: Look, width: int, height: int) -> list[Row]:
    """At most `height` rows; the first says most."""
    state, palette = look.state, look.palette
    if state.outcome is not None:
        rows = _ended(look, state.outcome, width)
        return rows if len(rows) <= height else [*rows[: height - 1], rows[-1]]  # the way on stays
    if look.is_over:
        words = [("runner gone", palette.verdict_partly), ("  it was not at its end", palette.dim)]
        return [words, _next(look, "")][:height]
    if state.paused:
        return [[("paused", palette.bright), ("   no new work starts until you press F4 to resume", palette.dim)]][
            :height
        ]
    return [row for row in (_asks(look, width), _waits(look), _critic(look), *_known(look, width)) if row][:height]


def _asks(look: Look, width: int) -> Row:
    """The question that waits for an answer; the transcript shows all of it, with the options."""
    question, palette = look.state.question, look.palette
    if question is None:
        return []
    key: Row = [("   ^l", palette.bright), (" shows it", palette.dim)]
    asked: Row = [("asks", palette.verdict_partly), blank(3), (one_line(question.question), palette.code)]
    return [*left(asked, width - width_of(key)), *key]


def _waits(look: Look) -> Row:
    palette, facts = look.palette, look.facts
    if facts.flights:
        return []
    if look.next_due is not None and look.next_due > look.now and facts.queued <= look.waiting:
        in_ = since(look.next_due - look.now + 0.999)
        return [("waits", palette.bright), (f"   retry of the next item in {in_}", palette.dim)]
    due = [lens.due for lens in facts.lenses.values() if lens.failures and lens.failed is None and lens.due > look.now]
    if due:
        in_ = since(min(due) - look.now + 0.999)
        return [("waits", palette.bright), (f"   retry of a failed lens in {in_}", palette.dim)]
    return []


def _known(look: Look, width: int) -> list[Row]:
    """`9 found, about 1 unseen (0 to 4), an estimate   read 14 of 20 files, …`; in two rows where one is too short."""
    if not look.by_lenses or not any(lens.passes for lens in look.facts.lenses.values()):
        return []
    palette, estimate = look.palette, look.facts.estimate()
    words = estimate_words(len(look.facts.found), estimate) + (", an estimate" if estimate is not None else "")
    known: Row = [(words, palette.code)]
    read: Row = [(f"read {coverage_words(look.facts.coverage())}", palette.dim)]
    if width_of(known) + width_of(read) + 3 <= width:
        return [[*known, blank(3), *read]]
    return [left(known, width), left(read, width)]


def _critic(look: Look) -> Row:
    critic = look.facts.critic
    palette = look.palette
    if critic is None or not critic.text:
        return []
    style = palette.bright if critic.lenses else palette.dim
    return [("critic  ", palette.dim), *foreign(critic.text, style, palette)]


def _ended(look: Look, outcome: RunEnded, width: int) -> list[Row]:
    """`dry, not complete` and each gap in a row of its own, then the ways on."""
    palette = look.palette
    is_dry = outcome.reason is Reason.DRY
    word = outcome.reason.value
    if is_dry:
        word = "dry" if outcome.complete else "dry, not complete"
    style = palette.verdict_good if outcome.complete else palette.verdict_partly
    sign = "✓ " if outcome.complete else "~ "
    how, *rest = outcome.detail.split("; ") if is_dry else [outcome.detail]
    gaps = rest[1:] if is_dry else _open(look)
    head: Row = [(sign + word, style), blank(3), *foreign(how, palette.code, palette)]
    first, *more = fold(head, width)
    rows: list[Row] = [list(first), *([blank(len(sign + word) + 3), *row] for row in more)]
    rows += [[blank(2), *foreign(gap, palette.verdict_partly, palette)] for gap in gaps]
    rows += [[blank(2), *row] for row in _known(look, width - 2)]
    if not outcome.complete or look.facts.findings or not look.by_lenses:
        rows.append(_next(look, "" if outcome.complete else _mend(outcome)))
    return rows


def _open(look: Look) -> list[str]:
    facts = look.facts
    found = [f"{grouped(facts.queued)} items wait in the queue"] if facts.queued else []
    if facts.set_aside:
        found.append(f"{grouped(facts.set_aside)} items failed permanently")
    return found


def _mend(outcome: RunEnded) -> str:
    detail = outcome.detail
    if outcome.reason is not Reason.BUDGET:
        return ""
    return next((mend for word, mend in _MENDS if word in detail), "/limit steps N")


def _next(look: Look, mend: str) -> Row:
    palette, outcome = look.palette, look.state.outcome
    row: Row = [("next  ", palette.dim)]
    if mend:
        row += [(mend, palette.bright), (" goes on   or ", palette.dim)]
    if outcome is None or not outcome.complete:
        row += [(f"rundry resume {one_line(look.state.run_id)}", palette.bright)]
        row += [] if mend else [(" goes on from here", palette.dim)]
    else:
        row += [("F2", palette.bright), (" goes through what was found", palette.dim)]
    return row
