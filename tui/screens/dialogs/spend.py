"""What each model used of the run."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import ModelShare, ViewState, money, short

from ...head.meters import draw_bar
from ...head.title import model_name
from ...text import one_line

_NAME, _BAR = 22, 10


class SpendScreen(ModalScreen[None]):
    """Esc closes it."""

    DEFAULT_CSS = """
    SpendScreen { align: center middle; background: $background 60%; }
    SpendScreen Vertical { width: 76; max-width: 98%; height: auto; padding: 1 2; background: $surface; }
    SpendScreen Static { height: auto; }
    """
    BINDINGS = [Binding("escape,q,enter", "dismiss", "Close")]

    def __init__(self, state: ViewState) -> None:
        super().__init__()
        self._state = state

    def compose(self) -> ComposeResult:
        """A row for each model."""
        with Vertical():
            yield Static(Content("\n").join(self._rows()), markup=False)

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
        yield Content.styled("› answers now   esc closes", "$dim")


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
