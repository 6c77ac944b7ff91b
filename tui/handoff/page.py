"""The page of a hand-off: what whoever takes it up has to know, over the whole screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from rundry.agent import HandoffOpened, ViewState, digests_of, handoff_markdown

from ..text import bare, one_line
from .words import Line, Part, parts

_STYLES = {
    "plain": "$foreground",
    "bright": "bold $bright",
    "next": "bold $needs-you",
    "dim": "$dim",
    "good": "$verdict-good",
    "bad": "$verdict-bad",
    "added": "$diff-added-sign",
    "removed": "$diff-removed-sign",
}
_FIRST = ("why", "next")
"""These stand together, without a blank line between them."""


class HandoffPage(Screen[None]):
    """Esc goes back to the run."""

    DEFAULT_CSS = """
    HandoffPage { background: $background; color: $foreground; }
    HandoffPage .head { height: 1; padding: 0 1; }
    HandoffPage VerticalScroll { height: 1fr; margin: 1 0; padding: 0 1; scrollbar-size-vertical: 1; }
    HandoffPage .part { height: auto; margin: 0 0 1 0; }
    HandoffPage .part.-close { margin: 0; }
    HandoffPage .label { width: 9; color: $dim; }
    HandoffPage .body { width: 1fr; height: auto; }
    HandoffPage .foot { height: 1; padding: 0 1; color: $dim; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+r", "dismiss", "Back"),
        Binding("y", "copy", "Copy as Markdown"),
        Binding("r", "go_on", "Resume with hint"),
        Binding("j", "scroll('down')", "Down", show=False),
        Binding("k", "scroll('up')", "Up", show=False),
        Binding("space", "scroll('page_down')", "Page down", show=False),
    ]

    def __init__(self, state: ViewState, opened: HandoffOpened, go_on: Callable[[], None]) -> None:
        """`go_on`: the person wants to write the hint with which it goes on."""
        super().__init__()
        self._state, self._opened, self._on = state, opened, go_on
        self._copied = False

    def compose(self) -> ComposeResult:
        """What it is, the parts, the keys."""
        yield Static(self._head(), classes="head", markup=False)
        with VerticalScroll():
            for part in parts(self._opened, self._state.run_id, self._waiting()):
                yield from self._part(part)
        yield Static(self._foot(), classes="foot", markup=False)

    def on_mount(self) -> None:
        """Keys scroll at once."""
        self.query_one(VerticalScroll).focus()
        self.set_interval(1.0, self._refresh_head)

    def action_copy(self) -> None:
        """The whole record."""
        run_id, journal = self._state.run_id, self._state.journal
        text = handoff_markdown(self._opened, run_id=run_id, journal=journal, waiting=self._waiting())
        cast("App[object]", self.app).copy_to_clipboard(bare(text))
        self._copied = True
        self.query_one(".foot", Static).update(self._foot())

    def action_go_on(self) -> None:
        """Back to the run, with the command half written."""
        self.dismiss()
        self._on()

    def action_scroll(self, how: str) -> None:
        """A line or a page."""
        view = self.query_one(VerticalScroll)
        {"down": view.scroll_down, "up": view.scroll_up, "page_down": view.scroll_page_down}[how]()

    def _waiting(self) -> dict[str, str]:
        """Digests of the proposals that this hand-off left open and that are open now."""
        known, now = digests_of(self._opened.record), self._state.proposals
        return {name: now[name].digest for name in known if name in now}

    def _refresh_head(self) -> None:
        self.query_one(".head", Static).update(self._head())

    def _head(self) -> Content:
        name = Content.assemble(("rundry", "bold $bright"), "  ", ("hand-off", "$foreground"), "  ")
        run = Content.styled(one_line(self._state.run_id), "$dim")
        return name + run + Content.assemble("   ", _standing(self._state, self._opened))

    def _foot(self) -> Content:
        if self._copied:
            return Content.styled("copied as Markdown, if the terminal allows it (OSC 52)", "$verdict-partly")
        keys = [("esc", "back"), ("r", "resume with hint"), ("y", "copy as Markdown"), ("↑ ↓ space", "scroll")]
        pieces = [Content.assemble((key, "$foreground"), (f" {word}", "$dim")) for key, word in keys]
        return Content("   ").join(pieces)

    def _part(self, part: Part) -> ComposeResult:
        classes = "part -close" if part.label == _FIRST[0] else "part"
        with Horizontal(classes=classes):
            yield Static(part.label, classes="label", markup=False)
            yield Static(Content("\n").join(_line(line) for line in part.lines), classes="body", markup=False)


def _line(line: Line) -> Content:
    return Content.assemble(*((text, _STYLES[kind]) for text, kind in line))


def _standing(state: ViewState, opened: HandoffOpened) -> tuple[str, str]:
    """Where this hand-off stands now."""
    if state.handoff is not opened:
        return ("the run ended with it", "$dim") if state.outcome is not None else ("resumed", "$dim")
    if state.tier is not None and state.tier.kind != "person":
        return f"asks {one_line(state.tier.name)}", "$foreground"
    return "waits for you", "bold $needs-you"
