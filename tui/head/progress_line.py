"""The line below the header with the countdown of a run that sleeps or waits, or with scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from rich.cells import cell_len

from rundry.agent import await_words, clock, end_cut, money, until_words

from ..keys.lookup import BY_NAME, shown_key
from ..text.show_text import one_line
from .header import PieceLine
from .meters import Piece

if TYPE_CHECKING:
    from rundry.agent import Await, ImproveSpec, ScoreMeasured, Sleeping, ViewState

_BARS = "▁▂▃▄▅▆▇█"
_LEAST_REASON = 12
"""Number of cells below which a reason is not worth showing."""
_MOST_BARS = 40


class ProgressLine(PieceLine):
    """The countdown of a run that sleeps or waits, or the scores of a run that improves one."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; padding: 0 1; display: none; }
    """

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        """`keymap`: the keys of the screen, or None if no key can wake the run, as in a replay."""
        super().__init__()
        self._wake_key = "" if keymap is None else shown_key(keymap.get("wake", BY_NAME["wake"].keys))

    def show(self, state: ViewState, now: float, width: int) -> None:
        """Show the line for this state. `now`: Unix seconds; `width`: cells."""
        pieces = arrange_progress(state, now, width - 2, self._wake_key)
        self.display = bool(pieces)
        self.set_pieces(pieces)


def arrange_progress(state: ViewState, now: float, width: int, wake_key: str) -> list[Piece]:
    """Return the pieces of the line; none if it neither sleeps nor waits nor has a score. `now`: Unix seconds."""
    if state.outcome is None and state.sleeping is not None:
        return _asleep(state, state.sleeping, now, width, wake_key)
    if state.awaits:
        return _awaiting(state.awaits, now, width, wake_key)
    if state.improve is not None and state.scores:
        return _scores(state, width)
    return []


def _awaiting(awaits: Sequence[Await], now: float, width: int, wake_key: str) -> list[Piece]:
    """Return what the model waits for longest, since when, until when, and how to end it."""
    first, began = awaits[0], awaits[0].began
    of = "" if began.until is None else f" of {clock(round(began.until - first.since))}"
    until = f"   {', '.join(until_words(began, first.since))}" if of else ""
    head = [Piece("waiting ", "name"), Piece(clock(now - first.since), "number"), Piece(of, "rest")]
    tail = [Piece(f"{wake_key} ", "number", "wake"), Piece("end wait", "rest", "wake")] if wake_key else []
    room = width - _cells(head) - _cells(tail) - 6
    more = f" and {len(awaits) - 1} more" if len(awaits) > 1 else ""
    words = f"for {one_line(await_words(began.what, began.name, began.text)).strip()}{more}"
    if len(words) + len(until) <= room:
        words += until
    shown = end_cut(words, max(0, room))
    return [*head, Piece("   ", "gap"), Piece(shown, "task"), Piece(" " * (3 + room - cell_len(shown)), "gap"), *tail]


def _asleep(state: ViewState, sleep: Sleeping, now: float, width: int, wake_key: str) -> list[Piece]:
    left = state.asleep_since + sleep.seconds - now
    head = [Piece("sleeping ", "name"), Piece(clock(left), "number"), Piece(f" of {clock(sleep.seconds)}", "rest")]
    tail = [Piece(f"{wake_key} ", "number", "wake"), Piece("wake", "rest", "wake")] if wake_key else []
    room = width - _cells(head) - _cells(tail) - 3
    reason = one_line(sleep.why).strip()
    for told in _about_cache(state, sleep, now):
        if len(told) + 3 <= room - min(len(reason) + 3, _LEAST_REASON):
            return [*head, *_quoted(reason, room - len(told) - 3), *_then(told), *_fill(room, reason, told), *tail]
    return [*head, *_quoted(reason, room), *_fill(room, reason, ""), *tail]


def _about_cache(state: ViewState, sleep: Sleeping, now: float) -> list[str]:
    """Return how the cost of the cache influenced the delay, the longest form first."""
    if sleep.warm_until is None:
        return [f"asked {clock(sleep.asked)}"] if abs(sleep.asked - sleep.seconds) >= 1 else []
    # the lifetime counts from the start of the sleep, by the journal's clock as the countdown does
    began = sleep.warm_until if sleep.until is None else sleep.until - sleep.seconds
    until = state.asleep_since + (sleep.warm_until - began)
    at = time.strftime("%H:%M", time.localtime(until))
    warm = f"until {at}" if until > now else f"it was warm until {at}"
    cold = "" if sleep.cold_usd is None else f", a cold read costs {money(sleep.cold_usd)}"
    both = cold if sleep.warm_usd is None or not cold else f"{cold}, a warm one {money(sleep.warm_usd)}"
    if sleep.moved == "inside":
        base = f"asked {clock(sleep.asked)}, moved inside the warm cache"
        return [f"{base} ({warm}{both})", f"{base} ({warm}{cold})", f"{base} ({warm})", base]
    if sleep.moved == "out":
        base = f"asked {clock(sleep.asked)}, moved out: a cold read has to pay"
        return [f"{base} ({warm}{both})", f"{base} ({warm})", base]
    state_of = "warm" if until > now else "cold"
    return [f"cache {state_of} ({warm}{both})", f"cache {state_of} ({warm})", f"cache {state_of}"]


def _quoted(reason: str, room: int) -> list[Piece]:
    if not reason or room < _LEAST_REASON:
        return []
    shown = reason if len(reason) + 5 <= room else reason[: room - 6] + "…"
    return [Piece("   ", "gap"), Piece(f'"{shown}"', "task")]


def _then(told: str) -> list[Piece]:
    return [Piece("   ", "gap"), Piece(told, "rest")]


def _fill(room: int, reason: str, told: str) -> list[Piece]:
    said = _cells(_quoted(reason, room - (len(told) + 3 if told else 0))) + (len(told) + 3 if told else 0)
    return [Piece(" " * max(3, room + 3 - said), "gap")]


def _scores(state: ViewState, width: int) -> list[Piece]:
    spec, newest = state.improve, state.scores[-1]
    assert spec is not None  # the caller checked this
    is_lower = spec.goal.value == "min"
    words = [", lower is better" if is_lower else ", higher is better", ""]
    tails = _no_measurement(state.unmeasured, spec) if state.unmeasured else _no_improvement(state.stale, spec)
    now = [Piece(f"{state.newest_try}   ", "number")] if state.newest_try and state.outcome is None else []
    score = [Piece("score ", "name"), Piece(f"{newest.score:g}", "number")]
    best = [Piece("   best ", "name"), Piece(f"{newest.best:g}", "passed")]
    forms = [([*score, *best, Piece(f"{better}   ", "rest"), *now], tail) for better, tail in product(words, tails)]
    head, tail = next((form for form in forms if sum(map(_cells, form)) <= width), forms[-1])
    room = min(_MOST_BARS, width - _cells(head) - _cells(tail))
    return [*head, *_bars(state.scores[-room:] if room > 0 else [], lower=is_lower), *tail]


def _no_improvement(stale: int, spec: ImproveSpec) -> list[list[Piece]]:
    """Return `no better in 2 of 3 passes ●●○`, the longest form first."""
    shown = min(stale, spec.patience)
    dots = "●" * shown + "○" * (spec.patience - shown) if spec.patience <= _LEAST_REASON else ""
    count = Piece(f"{stale} of {spec.patience} passes", "amber" if stale and stale >= spec.patience - 1 else "number")
    said = [Piece("   no better in ", "name"), count]
    return [
        [*said, Piece(f" {dots}", "rest")],
        said,
        [Piece("   no gain ", "name"), replace(count, text=f"{stale}/{spec.patience}")],
    ]


def _no_measurement(times: int, spec: ImproveSpec) -> list[list[Piece]]:
    return [[Piece("   not measured in ", "name"), Piece(f"{times} of {spec.patience} passes", "amber")]]


def _bars(scores: Sequence[ScoreMeasured], *, lower: bool) -> list[Piece]:
    """Return one bar for each measurement; a better score has a higher bar.

    Bars of kept changes have another colour.
    """
    if not scores:
        return []
    values = [-one.score if lower else one.score for one in scores]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return [
        Piece(_BARS[round((value - low) / span * (len(_BARS) - 1))], "passed" if one.kept else "track")
        for value, one in zip(values, scores, strict=True)
    ]


def _cells(pieces: Sequence[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces)
