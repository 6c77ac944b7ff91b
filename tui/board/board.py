"""The board: the live view of a search, redrawn five times a second, with its own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events, on
from textual.message import Message

from ..keys.clicks import clicked_action
from ..keys.letters import LetterKeys
from ..keys.screen_keymap import keymap_of
from .board_arming import JUDGES, Arming
from .board_data import BoardData, Tab, slotted
from .board_layout import Laid, lay_out
from .board_lists import ListSource, listing_of
from .board_view import STORED, BoardView
from .narrowing import RowFilter, next_group, no_row
from .row_canvas import Canvas

if TYPE_CHECKING:
    from rundry.agent import Finding, Journal, ViewState

REDRAW_SECONDS = 0.2
"""Time between two drawings that no key asked for."""
_WHEEL = 3
_FAR = 2**40
_STEPS = {"row_up": -1, "row_down": 1, "first_row": -_FAR, "last_row": _FAR}
"""Actions that move the selection, and by how many rows."""


class BoardActed(Message):
    """The person pressed the key of an action."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class VerdictHeld(Message):
    """The key of a verdict was ignored, because the selected row was not visible long enough to be meant."""


class Board(Canvas, can_focus=True):
    """Plot, counts, lenses, work in progress, and a list in which the person selects a row."""

    def __init__(
        self, actions: Mapping[str, str], source: ListSource | None = None, *, is_live: bool = True, acts: bool = True
    ) -> None:
        """`actions`: key to the name of its action. `source` has the lists, by default those of the journal.

        `acts`: the view can change the run; never in a replay. `is_live`: not a replay. The digits switch between the
        views, and a panel below says how the run ended.
        """
        super().__init__()
        self.id = "board"
        self._is_live = is_live
        self.acts = acts and is_live
        self.view = BoardView()
        self.arming = Arming()
        self._keyboard = _Keyboard(self, actions)
        self.marked: str | None = None
        """Key of the finding that is merged into the one selected next."""
        self.data: BoardData | None = None
        """What was drawn last, or None before the first drawing."""
        self.filter = RowFilter()
        self._listing = self.filter.whole
        self._laid = Laid([])
        self._source = source or ListSource()
        self._slots: tuple[str, ...] = ()
        self._drawn_at = float("-inf")
        self._by_hand = self._returns = self._slides = False
        self._was_over = False

    def show(
        self, state: ViewState, journal: Journal | None, now: float, *, is_over: bool, at_once: bool = False
    ) -> None:
        """Draw this state, unless the board was drawn within the last `REDRAW_SECONDS`.

        `at_once`: even then, as when the run ended since.
        """
        if state.finder is None or state.search is None or not self.is_mounted:
            return
        clock = Message().time
        at_end = state.outcome is not None or is_over
        if not at_once and at_end == self._was_over and clock - self._drawn_at < REDRAW_SECONDS:
            return
        self._source.use(journal)
        self._drawn_at = clock
        waiting, due = self._source.waiting(now, is_idle=not state.finder.flights)
        self._slots = slotted(self._slots, state.finder.flights)
        self.data = BoardData(
            state=state,
            facts=state.finder,
            spec=state.search,
            palette=self.palette,
            now=state.last_at if at_end else now,
            waiting=waiting,
            next_due=due,
            is_over=at_end,
            is_focused=self.has_focus,
            slots=self._slots,
            marked=self.marked,
            has_end_panel=self._is_live,
            acts=self.acts,
            numbered=self._is_live,
            keymap=keymap_of(self),
        )
        if at_end and not self._was_over and not self.view.is_open:
            self.view.spots.pop("findings", None)  # at the end the confirmed findings come first
        self._was_over = at_end
        self._renew(clock)
        self.draw()

    def draw(self) -> None:
        """Draw the same state again, with the present selection and focus."""
        if self.data is None or self.size.height < 2:
            return
        data = self.data = replace(self.data, is_focused=self.has_focus, marked=self.marked)
        if self.view.tab not in data.tabs:
            self.view.show(data.tabs[0])
        view, lists = self.view, self._source.item_lists
        version = lists.version if lists is not None and view.tab in STORED else None
        self._listing = self.filter.apply(
            listing_of(data, view, lists), view.tab, view.only, version, no_row(view, data.keymap), view.text
        )
        self._laid = lay_out(data, view, self._listing, self.size.width, self.size.height, self.filter.found)
        self.put_rows(self._laid.rows)
        self.arming.shows(self.view.tab, self._laid.picked, Message().time, by_hand=self._by_hand)
        self._by_hand = False

    def _renew(self, clock: float) -> None:
        if not self.view.is_open:
            worked = self.data.worked_items if self.data is not None else set[str]()
            self._source.renew(clock, worked, is_at_top=self.view.spot.top == 0)

    @property
    def picked(self) -> str | None:
        """Key of the selected entry."""
        return self._laid.picked

    @property
    def finding(self) -> Finding | None:
        """The selected finding, if findings are listed."""
        if self.data is None or self.view.tab != "findings" or self.picked is None:
            return None
        return self.data.facts.findings.get(self.picked)

    @property
    def is_holding_back(self) -> bool:
        """Whether a letter waits because it may begin a word."""
        return self._keyboard.is_holding_back

    def open(self) -> None:
        """Show the selected row in full, or the list again."""
        if self.view.tab != "work" and (self.view.is_open or self.picked is not None):
            self.view.is_open, self.view.scroll = not self.view.is_open, 0
            self._go()

    def go_to_tab(self, number: int) -> None:
        """Switch to the view with this number, from 1."""
        tabs = self.data.tabs if self.data is not None else ()
        if 1 <= number <= len(tabs):
            self._turn_to(tabs[number - 1])

    def number_of(self, tab: Tab) -> int:
        """Return the number of a view, from 1, or 0 if this search has no view with this name."""
        tabs = self.data.tabs if self.data is not None else ()
        return tabs.index(tab) + 1 if tab in tabs else 0

    def next_tab(self, by: int = 1) -> None:
        """Switch to the view next to this one."""
        if self.data is not None:
            tabs = self.data.tabs
            self._turn_to(tabs[(tabs.index(self.view.tab) + by) % len(tabs)])

    def _turn_to(self, tab: Tab) -> None:
        self.view.show(tab)
        self._source.expire()
        self._renew(Message().time)
        self._go()

    def turn_filter(self) -> None:
        """Show the rows of the next group of this view, and after the last group all rows."""
        self.view.narrow(next_group(self.filter.whole, self.view.only))
        self._go()

    def find(self, text: str) -> None:
        """Show the rows of this view that contain a text. An empty text shows all."""
        self.view.find(text)
        self._go()

    def _go(self) -> None:
        self._by_hand = True
        self.draw()

    def scroll_rows(self, by: int) -> None:
        """Move the selection in the list by rows, or scroll the detail."""
        self.view.move(by, self._listing)
        self._go()

    def on_focus(self) -> None:
        """Direct keys to the board from now on."""
        self._keyboard.focused()
        self.arming.focused(float("-inf") if self._returns else Message().time, sure=not self._slides)
        self._by_hand, self._returns, self._slides = True, False, False
        self.draw()

    def slide_in(self) -> None:
        """Take the focus after the cursor left the message box. The next keys may belong to a message."""
        self._slides = not self.has_focus
        self.screen.set_focus(self)

    def come_back(self) -> None:
        """Take the focus back from a line that the board opened. No grace period begins."""
        self._returns = not self.has_focus
        self.screen.set_focus(self)

    def on_blur(self) -> None:
        """Clear the selection of a row."""
        self.draw()

    async def _on_key(self, event: events.Key) -> None:
        self._keyboard.press(event)

    def travel(self, key: str) -> bool:
        """Handle a key that only changes what is visible. Return False for other keys."""
        match name := keymap_of(self).action_of(key, "rows"):
            case "":
                return False
            case _ if name in _STEPS:
                self.scroll_rows(_STEPS[name])
            case "rows_up":
                self.action_page_up()
            case "rows_down":
                self.action_page_down()
            case "previous_view":
                self.next_tab(-1)
            case "following_view":
                self.next_tab()
            case _:
                self.go_to_tab(int(name.removeprefix("view_")))
        return True

    def step_back(self) -> None:
        """Close the detail, else end the merging, else show all rows, else return to the message box."""
        if not self.close_step():
            self._keyboard.leave("")

    def close_step(self) -> bool:
        """Close the detail, else end the merging, else show all rows. Return False if there is nothing to close."""
        if self.view.is_open:
            self.open()
        elif self.marked is not None:
            self.marked = None
            self.draw()
        elif self.view.is_narrowed:
            self.view.narrow("")
            self.find("")
        else:
            return False
        return True

    def action_page_up(self) -> None:
        """Move the selection up by a page, or scroll the detail."""
        self.scroll_rows(-max(1, self.view.page - 1))

    def action_page_down(self) -> None:
        """Move the selection down by a page, or scroll the detail."""
        self.scroll_rows(max(1, self.view.page - 1))

    @on(events.MouseScrollUp)
    def _wheel_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-_WHEEL)

    @on(events.MouseScrollDown)
    def _wheel_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(_WHEEL)

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
        name, _, number = clicked_action(event).partition(" ")
        if name == "tab":
            event.stop()
            self.go_to_tab(int(number))
            return
        row = self._laid.list_row(event.x, event.y)
        index = self.view.spot.top + row
        if row >= 0 and index < self._listing.count:
            is_again = self._listing.key(index) == self.picked and event.chain > 1
            self.view.pick(index, self._listing)
            self.view.is_open = self.view.is_open or is_again
            self._go()

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self.clear_rows()
        self.draw()

    def notify_style_update(self) -> None:
        """Read the colours of the new theme."""
        super().notify_style_update()
        if self.data is not None and self.is_attached:
            self.data = replace(self.data, palette=self.palette)
            self.draw()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._keyboard.leave(event.text)


class _Keyboard(LetterKeys):
    """Handles the keys of the board. A letter that does something waits briefly, because it may begin a word."""

    def __init__(self, board: Board, actions: Mapping[str, str]) -> None:
        """`actions` maps a key to the name of its action."""
        super().__init__(board)
        self._board, self._actions = board, actions

    def press(self, event: events.Key) -> None:
        """Handle a key."""
        types, action = event.is_printable and event.character, self._actions.get(event.key)
        if self.follow(event):
            pass
        elif types and self._board.arming.is_typing(event.time):
            self.leave(event.character or "")
        elif action is not None:
            self._act(action, event)
        elif self.continues_word(event, moves=bool(keymap_of(self._board).action_of(event.key, "rows"))):
            pass
        elif self._board.travel(event.key):
            self.moved(event)
        elif types:
            self.leave(event.character or "")
        else:
            return
        event.stop()
        event.prevent_default()

    def _act(self, action: str, event: events.Key) -> None:
        if event.is_printable and (event.character or "").isalpha():
            self.hold(action, event)
        else:
            self.carry_out(action, event.time)

    def carry_out(self, action: str, at: float) -> None:
        """Post the action, unless it is a verdict on a row that was not visible long enough."""
        is_meant = action not in JUDGES or self._board.arming.counts(at)
        self._board.post_message(BoardActed(action) if is_meant else VerdictHeld())
