"""Show all keys and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ..keys.action_places import TITLES
from ..keys.close_dialog import ClosesOnce
from ..keys.keymap import Keymap
from ..keys.lookup import READ_ONLY_ACTIONS, actions_of
from ..keys.screen_keymap import keymap_of
from ..keys.scrolling import Page, scroll

if TYPE_CHECKING:
    from ..keys.action import Action, Place

_BESIDES: Mapping[Place, tuple[tuple[str, str], ...]] = {
    "message": (
        ("{interrupt} {interrupt}", "in an empty box: rewind to a message, with the files"),
        ("/", "enter a command"),
        ("@", "add a file of the workspace, or attach an image"),
        ("!", "run a command; `!!` hides it from the model"),
        ("\\ {send}", "insert a line, in every terminal"),
    ),
    "end": (("{to_gate}", "focus these keys"),),
}
"""What is not an action of its own."""
_HEADER = (
    ("line 1", "the task, the kind of run, the check, the model, the sandbox, and what happens now"),
    ("step", "answers of the model, and their limit: 7/40"),
    ("tok", "tokens, read and written: 48k/200k is 48,000 of 200,000"),
    ("usd", "dollars, and their limit: 0.12/0.50"),
    ("1:12", "time in which the model, tools and checks worked, and its limit: 1:12/10:00"),
    ("ctx", "how full the context window of the model is with the newest prompt"),
    ("14→3 ✗", "failing tests of the check: at the start, and now"),
    ("~35k", "an estimate, because the provider reports none"),
    ("+33k", "may be billed for calls that were cut"),
    ("$?", "the price of the model is not known"),
    ("!", "nine tenths of a limit are used; a click on a meter changes its limit"),
)
"""What stands in the two lines of the header."""
_ONLY_SHOWS = ("/", "{to_gate}")
"""Those of them that a read-only view offers."""
_KEY, _ABOUT, _WIDEST = 7, 51, 100
"""Cells of the columns, and of the whole page."""


class HelpScreen(ClosesOnce[None], ModalScreen[None]):
    """Screen with all keys and commands. It scrolls, and on a narrow screen a command has a line of its own."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; background: $background; }
    HelpScreen Page { padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }
    HelpScreen #foot { padding: 0 1; height: 1; background: $surface; color: $dim; }
    """

    def __init__(self, remaps: Mapping[str, str], focused: str = "", *, is_read_only: bool = False) -> None:
        """`remaps`: the user's keys by the name of their action. `is_read_only`: leave out what the view refuses.

        `focused`: the part of the screen that had the focus, whose keys stand first (see `Areas.focused`).
        """
        super().__init__()
        part = focused.partition(":")[0]
        self._places = sorted(TITLES, key=lambda place: place != part)
        self._is_read_only = is_read_only
        self._keymap = Keymap(remaps)
        self._rows, self._foot = Static("", markup=False), Static("", id="foot", markup=False)
        self._page = Page(self._rows)

    def compose(self) -> ComposeResult:
        """Yield one section for each part of the screen, and the keys of this page."""
        yield self._page
        yield self._foot

    def on_mount(self) -> None:
        """Focus the page, and show the keys that scroll it."""
        self._page.focus()
        self._foot.update(
            keymap_of(self).foot(("close_dialog", "close"), ("scroll_up scroll_down scroll_page_down", "scroll"))
        )

    def on_resize(self) -> None:
        """Arrange the rows for the new width."""
        # exact sizes: Textual keeps the height of `auto` that it computed before the rows were known
        is_wide = self.size.width > _WIDEST + 4  # else it takes the whole width, without a strip of the screen below
        width = _WIDEST if is_wide else self.size.width
        rows: list[Content] = []
        for place in self._places:
            section = [*self._section(place, width - 3)]
            rows += [Content(""), *section] if rows and section else section
            if place == "main":
                rows += [Content(""), Content.styled("The header", "bold $bright"), *_explained(_HEADER, width - 3)]
        self._rows.update(Content("\n").join(rows))
        self._rows.styles.height = len(rows)
        self._page.styles.width = self._foot.styles.width = width
        self._page.styles.height = max(1, min(len(rows), self.size.height - (3 if is_wide else 1)))

    def on_key(self, event: events.Key) -> None:
        """Scroll, or close."""
        keymap = keymap_of(self)
        name = keymap.action_of(event.key, "dialog", "scroll", "main")
        if name in ("close_dialog", "help") or event.key == "question_mark":
            self.dismiss(None)
        elif not scroll(self._page, name):
            return
        event.stop()
        event.prevent_default()

    def _section(self, place: Place, width: int) -> Iterator[Content]:
        besides, actions = _BESIDES.get(place, ()), actions_of(place)
        if self._is_read_only:
            besides = tuple(row for row in besides if row[0] in _ONLY_SHOWS)
            actions = [action for action in actions if action.name in READ_ONLY_ACTIONS]
        if not actions:
            return
        yield Content.styled(TITLES[place], "bold $bright")
        yield from self._besides(besides, width)
        for action in actions:
            slash = f"/{action.slash} {action.takes}".strip() if action.typed else ""
            yield from _entry(self._keymap.shown(action.name), self._keymap.named(_about(action)), slash, width)

    def _besides(self, besides: Iterable[tuple[str, str]], width: int) -> Iterator[Content]:
        for key, about in besides:
            yield from _entry(self._keymap.named(key), about, "", width)


def _explained(rows: Iterable[tuple[str, str]], width: int) -> Iterator[Content]:
    for shown, about in rows:
        yield from _entry(shown, about, "", width)


def _about(action: Action) -> str:
    return f"{action.label}: {action.detail}" if action.detail else action.label


def _entry(key: str, about: str, slash: str, width: int) -> Iterator[Content]:
    """Yield a row, or several where key, words and command do not fit in one."""
    column = width - _KEY - 2
    words = Content(about).wrap(column) if len(about) > column else [Content(about)]
    fits = len(words) == 1 and len(about) < _ABOUT and _ABOUT + len(slash) <= column
    first = Content.assemble((key.rjust(_KEY), "bold $needs-you"), "  ")
    last = Content.styled(slash, "$dim")
    yield first + (Content.assemble(about.ljust(_ABOUT), last) if fits else words[0])
    if fits:
        return
    yield from (Content(" " * (_KEY + 2)) + line for line in words[1:])
    if slash:
        yield from (Content(" " * (_KEY + 2)) + line for line in last.wrap(column))
