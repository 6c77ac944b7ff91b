"""The meters as numbers and words, and how they shrink on a narrow screen. Does not import textual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from rundry.agent import clock, short

if TYPE_CHECKING:
    from rundry.agent import CheckFinished, ViewState

NO_MODEL = "none"
"""The name of the model in a run without one."""

AMBER, RED = 0.75, 0.90
_LEAST_USD = 0.005
"""Held dollars below this are not shown: they would read `0.00`."""

Level = Literal["calm", "amber", "red"]
_OfMeters = Literal["name", "number", "bar", "track", "rest", "amber", "red", "passed", "failed", "gap"]
_OfTitle = Literal["brand", "task", "loop", "goal", "model", "phase", "waiting"]
PieceKind = _OfMeters | _OfTitle
"""The kind of a piece. The style sheet has a colour for each."""


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of one limited resource is used."""

    name: str
    used: str
    limit: str
    """Empty: there is no limit."""
    share: float | None
    """0 to 1, more if the limit is exceeded, or None without a limit."""
    limits: str = ""
    """Name of the limit for `/limit`."""
    held: str = ""
    """What a provider may still bill; it counts against the limit."""

    @property
    def level(self) -> Level:
        """How close the limit is: calm, amber or red."""
        if self.share is None or self.share < AMBER:
            return "calm"
        return "amber" if self.share < RED else "red"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text of one meaning."""

    text: str
    kind: PieceKind
    action: str = ""
    """What a click does: the name of an action, with its argument."""


def meters(state: ViewState, now: float) -> list[Meter]:
    """Return the meters for steps, tokens, dollars, seconds and context, with their limits."""
    budget, spent = state.budget, state.common.ledger.limited
    if budget is None:
        return []
    seconds = state.busy_seconds(now)
    about = "~" if spent.estimated else ""
    usd = "$?" if spent.unpriced or not state.priced else f"{about}{spent.usd:.2f}"
    is_crawl = state.search is not None and state.search.traits.fetches_pages
    steps = _meter("page" if is_crawl else "step", str(spent.steps), spent.steps, budget.steps, _whole, "steps")
    tokens = _meter("tok", about + short(spent.tokens.total), spent.counted_tokens, budget.tokens, short, "tokens")
    money = _meter("usd", usd, spent.counted_usd, budget.usd, _dollars, "usd")
    if spent.held_tokens:
        tokens = replace(tokens, held=short(spent.held_tokens))
    if spent.held_usd >= _LEAST_USD:
        money = replace(money, held=_dollars(spent.held_usd))
    time = _meter("time", clock(seconds), seconds, budget.seconds, clock, "time")
    found = [steps, time] if state.model == NO_MODEL else [steps, tokens, money, time]
    if state.window and state.prompt_tokens:
        share = state.prompt_tokens / state.window
        found.append(Meter("ctx", f"{round(share * 100)}%", "", share))
    return found


def arrange(state: ViewState, now: float, width: int) -> list[Piece]:
    """Return the pieces of the line for `width` cells. Bars are dropped before numbers, and numbers before names."""
    found = meters(state, now)
    tail = _tail(state)
    for bar, named, gap in (
        (11, True, 3),
        (8, True, 3),
        (5, True, 2),
        (0, True, 3),
        (0, True, 2),
        (0, False, 2),
        (0, False, 1),
    ):
        pieces = _line(found, tail, bar, named, gap)
        if sum(len(piece.text) for piece in pieces) + 2 <= width:
            return pieces
    return _line(found[:4], tail[:1], 0, False, 1)


def _meter(
    name: str, used: str, amount: float, limit: float | None, show: Callable[[float], str], limits: str
) -> Meter:
    text = show(limit) if limit is not None else ""
    share = None if limit is None else (amount / limit if limit else 1.0)
    return Meter(name, used.rjust(len(text)), text, share, limits)


def _whole(limit: float) -> str:
    return str(int(limit))


def _dollars(limit: float) -> str:
    return f"{limit:.2f}"


def _line(found: list[Meter], tail: list[Piece], bar: int, named: bool, gap: int) -> list[Piece]:
    pieces: list[Piece] = []
    for meter in found:
        if pieces:
            pieces.append(Piece(" " * gap, "gap"))
        pieces += _pieces(meter, bar, named)
    if tail and pieces:
        pieces.append(Piece(" " * gap, "gap"))
    return pieces + tail


def _pieces(meter: Meter, bar: int, named: bool) -> list[Piece]:
    level: PieceKind = "number" if meter.level == "calm" else meter.level
    limit = f"/{meter.limit}" if meter.limit else ""
    pieces = [Piece(f"{meter.name} ", "name")] if named and meter.name != "time" else []
    pieces.append(Piece(meter.used, level))
    if limit:
        pieces.append(Piece(limit, "rest"))
    if meter.held:
        pieces.append(Piece(f" +{meter.held} held" if named else f"+{meter.held}", "rest"))
    pieces.append(Piece("!" if meter.level == "red" else " ", level))
    if bar and meter.limit and meter.share is not None:
        full, rest = draw_bar(meter.share, bar)
        pieces += [Piece(full, level if meter.level != "calm" else "bar"), Piece(rest, "track")]
    return [replace(piece, action=f"limit {meter.limits}") for piece in pieces] if meter.limits else pieces


def draw_bar(share: float, width: int) -> tuple[str, str]:
    """Return the filled and the empty part of a bar, drawn in half cells: `━━╸` and `─────`."""
    halves = min(2 * width, max(0, round(share * 2 * width)))
    full = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return full, "─" * (width - len(full))


def _tail(state: ViewState) -> list[Piece]:
    pieces: list[Piece] = []
    finder, search = state.finder, state.search
    by_lenses = finder is not None and search is not None and bool(finder.lenses)
    dry = state.dry or ((0, search.dry_passes) if by_lenses and search is not None else None)
    if dry is not None:
        streak, wanted = dry
        pieces.append(Piece("dry " + "●" * min(streak, wanted) + "○" * max(0, wanted - streak), "number"))
    if by_lenses and finder is not None and finder.pass_open:
        pieces.append(Piece(f"{finder.pass_new} new".rjust(8), "number" if finder.pass_new else "rest"))
    if state.check is not None:
        if pieces:
            pieces.append(Piece("  ", "gap"))
        pieces.append(_check_piece(state, state.check))
    return pieces


def _check_piece(state: ViewState, check: CheckFinished) -> Piece:
    evidence = None if state.outcome is None else state.outcome.evidence
    if check.passed and evidence is not None and evidence.judged_why:
        return Piece("~ passed", "number")
    count = state.failure_change
    sign = "✓ passed" if check.passed else ("✗" if count else "✗ failing")
    return Piece(sign if check.passed else f"{count} {sign}".strip(), "passed" if check.passed else "failed")
