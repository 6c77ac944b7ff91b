"""Show the tokens and the cost of each model in the run."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import ModelShare, ViewState, money, short

from ...head.meters import draw_bar
from ...head.title import model_name
from ...keyboard.clicks import press_clicked_key
from ...keyboard.closing import ClosesOnce
from ...keyboard.screen_keymap import keymap_of
from ...text import one_line

_NAME, _BAR = 22, 10


class SpendScreen(ClosesOnce[None], ModalScreen[None]):
    """A dialog with the spend of each model. Esc closes it."""

    DEFAULT_CSS = """
    SpendScreen { align: center middle; background: $background 60%; }
    SpendScreen Vertical { width: 76; max-width: 98%; height: auto; padding: 1 2; background: $surface; }
    SpendScreen Static { height: auto; }
    """

    def __init__(self, state: ViewState) -> None:
        super().__init__()
        self._state = state

    def compose(self) -> ComposeResult:
        """Yield a row for each model."""
        with Vertical():
            yield Static(Content("\n").join(self._rows()), markup=False)

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
        head = f"{'model':<{_NAME}} {'calls':>6} {'in':>7} {'out':>7} {'usd':>8}   share of tokens"
        yield Content.styled(head, "$dim")
        for share in shares:
            yield _row(share, _tokens(share) / whole, is_now=share.model == self._state.model)
        yield Content("")
        yield Content.styled("› answers now   ", "$dim") + keymap_of(self).press("close_dialog", "closes", style="$dim")


def _tokens(share: ModelShare) -> int:
    return share.tokens_in + share.tokens_out


def _row(share: ModelShare, part: float, *, is_now: bool) -> Content:
    name = one_line(model_name(share.model) or "?")
    name = f"› {name}" if is_now else f"  {name}"
    name = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    usd = "$?" if share.usd is None else money(share.usd)
    full, rest = draw_bar(part, _BAR)
    return Content.assemble(
        (f"{name:<{_NAME}} ", "$bright" if is_now else "$foreground"),
        f"{share.calls:>6} {short(share.tokens_in):>7} {short(share.tokens_out):>7} {usd:>8}   ",
        (full, "$meter-ok"),
        (rest, "$meter-track"),
        f" {round(part * 100):>3}%",
    )
