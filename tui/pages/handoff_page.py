"""The page of a hand-off, over the whole screen: what the next person or model has to know."""

from __future__ import annotations

from typing import cast

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from rundry.agent import HandoffOpened, ViewState, digests_of, handoff_markdown

from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of
from ..keys.scrolling import Page, scroll
from ..text.show_text import bare, one_line
from .handoff_words import Line, Part, parts

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
"""Parts that have no blank line between them."""


_MOVES = {"handoff_down": "scroll_down", "handoff_up": "scroll_up", "handoff_page": "scroll_page_down"}
"""Actions of the page that scroll as another one does."""


class HandoffPage(ClosesOnce[bool]):
    """The page. Esc returns to the run. Returns whether the person wants to resume it with a hint."""

    DEFAULT_CSS = """
    HandoffPage { background: $background; color: $foreground; }
    HandoffPage .head { height: 1; padding: 0 1; }
    HandoffPage Page { height: 1fr; margin: 1 0; padding: 0 1; scrollbar-size-vertical: 1; }
    HandoffPage .part { height: auto; margin: 0 0 1 0; }
    HandoffPage .part.-close { margin: 0; }
    HandoffPage .label { width: 9; color: $dim; }
    HandoffPage .body { width: 1fr; height: auto; }
    HandoffPage .foot { height: 1; padding: 0 1; color: $dim; }
    """

    def __init__(self, state: ViewState, opened: HandoffOpened, *, can_resume: bool) -> None:
        super().__init__()
        self._state, self._opened, self._can_resume = state, opened, can_resume
        self._copied = False

    def compose(self) -> ComposeResult:
        """Yield the heading, the parts and the keys."""
        yield Static(self._head(), classes="head", markup=False)
        with Page():
            for part in parts(self._opened, self._state.run_id, self._waiting()):
                yield from self._part(part)
        yield Static(self._foot(), classes="foot", markup=False)

    def on_mount(self) -> None:
        """Focus the record, so that keys scroll it immediately."""
        self.query_one(Page).focus()
        self.set_interval(1.0, self._refresh_head)

    def on_resize(self) -> None:
        """Show as many keys as fit."""
        self.query_one(".foot", Static).update(self._foot())

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def action_copy(self) -> None:
        """Copy the whole record to the clipboard."""
        run_id, journal = self._state.run_id, self._state.journal
        text = handoff_markdown(self._opened, run_id=run_id, journal=journal, waiting=self._waiting())
        cast("App[object]", self.app).copy_to_clipboard(bare(text))
        self._copied = True
        self.query_one(".foot", Static).update(self._foot())

    def on_key(self, event: events.Key) -> None:
        """Copy, resume, scroll or close."""
        keymap = keymap_of(self)
        name = keymap.action_of(event.key, "handoff", "dialog", "scroll", "main")
        if name == "handoff_copy":
            self.action_copy()
        elif name == "handoff_resume" and self._can_resume:
            self.dismiss(True)
        elif name in ("close_dialog", "handoff"):
            self.dismiss(False)
        elif not scroll(self.query_one(Page), _MOVES.get(name, name)):
            return
        event.stop()
        event.prevent_default()

    def _waiting(self) -> dict[str, str]:
        """Return the digests of the proposals that this hand-off left open and that are still open."""
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
        resumes = [("handoff_resume", "resume with hint")] if self._can_resume else []
        return keymap_of(self).foot(
            ("close_dialog", "back"),
            *resumes,
            ("handoff_copy", "copy as Markdown"),
            ("scroll_up scroll_down handoff_page", "scroll"),
            width=max(1, self.size.width - 2),
        )

    def _part(self, part: Part) -> ComposeResult:
        classes = "part -close" if part.label == _FIRST[0] else "part"
        with Horizontal(classes=classes):
            yield Static(part.label, classes="label", markup=False)
            yield Static(Content("\n").join(_line(line) for line in part.lines), classes="body", markup=False)


def _line(line: Line) -> Content:
    return Content.assemble(*((text, _STYLES[kind]) for text, kind in line))


def _standing(state: ViewState, opened: HandoffOpened) -> tuple[str, str]:
    """Return whether this hand-off still waits, and for what."""
    if state.handoff is not opened:
        return ("the run ended with it", "$dim") if state.outcome is not None else ("resumed", "$dim")
    if state.tier is not None and state.tier.kind != "person":
        return f"asks {one_line(state.tier.name)}", "$foreground"
    return "waits for you", "bold $needs-you"
