"""Show the tokens and the cost of each model in the run, and what child runs, summaries and checks took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import CheckFinished, ConversationCut, Journal, ModelShare, Spent, ViewState, clock, money, short

from ..head.header_title import model_name
from ..head.meters import draw_bar
from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of
from ..text.shorten_cells import cells_fit
from ..text.show_text import one_line
from .page_size import inner_width

WIDTH = 76
_NAME, _BAR = 22, 10
_NUMBERS, _SHARE, _PERCENT = 32, 18, 6
"""Width of the columns with numbers, of the bar with its share, and of the share alone."""


class SpendScreen(ClosesOnce[None], ModalScreen[None]):
    """A dialog with the spend of each model. Esc closes it."""

    DEFAULT_CSS = """
    SpendScreen { align: center middle; background: $background; }
    SpendScreen Vertical { width: 76; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    SpendScreen Static { height: auto; }
    """

    def __init__(self, state: ViewState, journal: Journal | None = None) -> None:
        """`journal`: the events of the run, or None if only the use of the models is shown."""
        super().__init__()
        self._state = state
        self._parts = [*spent_on(state, journal)]
        self._page = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Yield a row for each model."""
        with Vertical():
            yield self._page

    def on_resize(self) -> None:
        """Fit the rows to the new width."""
        self._page.update(Content("\n").join(self._rows()))

    def on_key(self, event: events.Key) -> None:
        """Close the dialog."""
        keymap = keymap_of(self)
        if keymap.action_of(event.key, "dialog", "list") in ("close_dialog", "take"):
            event.stop()
            self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def _rows(self) -> Iterator[Content]:
        shares = list(self._state.shares.values())
        whole = sum(_tokens(share) for share in shares) or 1
        yield Content.styled("Use of each model in this run", "bold $bright")
        yield Content("")
        width = inner_width(self.size.width, WIDTH)
        is_wide = width >= _NAME + _NUMBERS + _SHARE
        column = max(_PERCENT, min(_NAME, width - _NUMBERS - _PERCENT))
        head = f"{'model':<{column}} {'calls':>6} {'in':>7} {'out':>7} {'usd':>8}"
        yield Content.styled(head + ("   share of tokens" if is_wide else " share"), "$dim")
        for share in shares:
            is_now = share.model == self._state.model
            yield _row(share, _tokens(share) / whole, column, is_now=is_now, has_bar=is_wide)
        if self._parts:
            yield Content("")
            yield Content.styled(f"{'kind of work':<{column}} {'times':>6} {'tokens or time':>15} {'usd':>8}", "$dim")
        for part in self._parts:
            usd = "" if part.usd == 0 else "$?" if part.usd is None else money(part.usd)
            yield Content(f"{'  ' + part.name:<{column}} {part.number:>6} {part.amount:>15} {usd:>8}")
        yield Content("")
        yield Content.styled("› answers now   ", "$dim") + keymap_of(self).press("close_dialog", "closes", style="$dim")


@dataclass(frozen=True, slots=True)
class Part:
    """What one kind of work took."""

    name: str
    number: int
    amount: str
    """Its tokens, or its time."""
    usd: float | None
    """0 if it costs nothing, None if the price is not known."""


def spent_on(state: ViewState, journal: Journal | None) -> Iterator[Part]:
    """Yield what child runs, summaries of the conversation and checks took, of those that there were."""
    children = state.common.ledger.of_children
    if children:
        spent = sum(children.values(), Spent())
        usd = None if spent.unpriced else spent.usd
        yield Part("child runs", len(children), short(spent.tokens.total), usd)
    stored = [] if journal is None else journal.read_types([ConversationCut, CheckFinished])
    events = [stamped.event for stamped in stored]
    cuts = [event.usd for event in events if isinstance(event, ConversationCut) and event.summary]
    if cuts:
        known = [usd for usd in cuts if usd is not None]
        yield Part("summaries", len(cuts), "", sum(known) if len(known) == len(cuts) else None)
    checks = sum(isinstance(event, CheckFinished) for event in events)
    if checks:
        yield Part("checks", checks, clock(state.common.ledger.check_seconds), 0.0)


def _tokens(share: ModelShare) -> int:
    return share.tokens_in + share.tokens_out


def _row(share: ModelShare, part: float, column: int, *, is_now: bool, has_bar: bool) -> Content:
    name = one_line(model_name(share.model) or "?")
    name = cells_fit(f"› {name}" if is_now else f"  {name}", column)
    usd = "$?" if share.usd is None else money(share.usd)
    full, rest = draw_bar(part, _BAR)
    return Content.assemble(
        (f"{name} ", "$bright" if is_now else "$foreground"),
        f"{share.calls:>6} {short(share.tokens_in):>7} {short(share.tokens_out):>7} {usd:>8}",
        *([("   ", ""), (full, "$meter-ok"), (rest, "$meter-track")] if has_bar else []),
        f" {round(part * 100):>{3 if has_bar else 4}}%",
    )
