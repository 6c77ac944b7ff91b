"""The live view of a search, redrawn a few times a second, with its own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from textual import events, on
from textual.message import Message

from rundry.agent import Finding, Journal, ViewState

from .arming import JUDGES, Arming
from .canvas import Canvas
from .layout import Laid, lay_out
from .look import Look, slotted
from .rows.listings import listing_of
from .source import ListSource
from .view import BoardView, Listing

REDRAW_SECONDS = 0.2
"""Between two drawings that nobody asked for by a key."""
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
_WHEEL = 3


class Board(Canvas, can_focus=True):
    """Plot, counts, lenses, works in flight, and a list in which a row can be picked."""

    class Acts(Message):
        """A key of the table's actions."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Held(Message):
        """A key that judges came too soon to be meant for what stands there."""

    class Left(Message):
        """The person goes back to the message, with what they typed of it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, actions: Mapping[str, str], source: ListSource | None = None) -> None:
        """`actions` maps a key to the name of its action; `source` has the lists, by default those of the journal."""
        super().__init__()
        self._actions = actions
        self.view = BoardView()
        self.arming = Arming()
        self.marked: str | None = None
        """The finding that is to be merged into another."""
        self._look: Look | None = None
        self._listing = Listing(0, lambda index, width: [], lambda index: None, lambda key: None)
        self._laid = Laid([])
        self._source = source or ListSource()
        self._slots: tuple[str, ...] = ()
        self._drawn_at = float("-inf")
        self._by_hand = self._returns = self._slides = False
        self._was_over = False

    def show(
        self, state: ViewState, journal: Journal | None, now: float, *, is_over: bool, at_once: bool = False
    ) -> None:
        """Bring it to what the state says, unless it was drawn just now."""
        if state.finder is None or state.search is None or not self.is_mounted:
            return
        clock = Message().time
        if not at_once and clock - self._drawn_at < REDRAW_SECONDS:
            return
        self._source.use(journal)
        self._drawn_at = clock
        at_end = state.outcome is not None or is_over
        waiting, due = self._source.waiting(now, is_idle=not state.finder.flights)
        self._slots = slotted(self._slots, state.finder.flights)
        self._look = Look(
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
        )
        if at_end and not self._was_over and not self.view.is_open:
            self.view.spots.pop("findings", None)  # what was confirmed comes first now
        self._was_over = at_end
        self._renew(clock)
        self.draw()

    def draw(self) -> None:
        """Once more, from the same moment."""
        if self._look is None or self.size.height < 2:
            return
        look = self._look = replace(self._look, is_focused=self.has_focus, marked=self.marked)
        if self.view.tab not in look.tabs:
            self.view.show(look.tabs[0])
        self._listing = listing_of(look, self.view, self._source.stock)
        self._laid = lay_out(look, self.view, self._listing, self.size.width, self.size.height)
        self.put_rows(self._laid.rows)
        self.arming.shows(self.view.tab, self._laid.picked, Message().time, by_hand=self._by_hand)
        self._by_hand = False

    def _renew(self, clock: float) -> None:
        if not self.view.is_open:
            flights = self._look.facts.flights.values() if self._look is not None else ()
            worked = {flight.about for flight in flights if flight.kind == "item"}
            self._source.renew(clock, worked, is_at_top=self.view.spot.top == 0)

    @property
    def picked(self) -> str | None:
        """Key of the entry under the cursor."""
        return self._laid.picked

    @property
    def finding(self) -> Finding | None:
        """The one under the cursor."""
        if self._look is None or self.view.tab != "findings" or self.picked is None:
            return None
        return self._look.facts.findings.get(self.picked)

    @property
    def look(self) -> Look | None:
        """Return what was drawn last."""
        return self._look

    def open(self) -> None:
        """The picked row in full, or the list again."""
        if self.view.tab != "work" and (self.view.is_open or self.picked is not None):
            self.view.is_open, self.view.scroll = not self.view.is_open, 0
            self._go()

    def go_to_tab(self, number: int) -> None:
        """The view of this number, counted from 1."""
        tabs = self._look.tabs if self._look is not None else ()
        if 1 <= number <= len(tabs):
            self._turn_to(tabs[number - 1])

    def next_tab(self, by: int = 1) -> None:
        """Switch to the view next to this one."""
        if self._look is not None:
            tabs = self._look.tabs
            self._turn_to(tabs[(tabs.index(self.view.tab) + by) % len(tabs)])

    def _turn_to(self, tab: str) -> None:
        self.view.show(tab)
        self._source.expire()
        self._renew(Message().time)
        self._go()

    def turn_filter(self) -> None:
        """Switch to the next filter of the findings."""
        if self.view.tab != "findings" and self._look is not None and "findings" in self._look.tabs:
            self.view.show("findings")
        self.view.turn_filter()
        self._go()

    def _go(self) -> None:
        self._by_hand = True
        self.draw()

    def _move(self, by: int) -> None:
        self.view.move(by, self._listing)
        self._go()

    def on_focus(self) -> None:
        """Direct keys to the board from now on."""
        self.arming.focused(float("-inf") if self._returns else Message().time, sure=not self._slides)
        self._by_hand, self._returns, self._slides = True, False, False
        self.draw()

    def slide_in(self) -> None:
        """The cursor moved on from the message box: what is typed right after it may still be a message."""
        self._slides = not self.has_focus
        self.screen.set_focus(self)

    def come_back(self) -> None:
        """The focus returns from a line that was asked for here: the person never left the board."""
        self._returns = not self.has_focus
        self.screen.set_focus(self)

    def on_blur(self) -> None:
        """Clear the selection of a row."""
        self.draw()

    async def _on_key(self, event: events.Key) -> None:
        types = event.is_printable and event.character
        if types and self.arming.is_typing(event.time):
            done = self._leave(event.character or "")
        else:
            done = self._travel(event.key) or self._act(event)
            if not done and types:
                done = self._leave(event.character or "")
        if done:
            event.stop()
            event.prevent_default()

    def _leave(self, text: str) -> bool:
        self.post_message(self.Left(text))
        return True

    def _act(self, event: events.Key) -> bool:
        action = self._actions.get(event.key)
        if action is None:
            return False
        is_meant = action not in JUDGES or self.arming.counts(event.time)
        self.post_message(self.Acts(action) if is_meant else self.Held())
        return True

    def _travel(self, key: str) -> bool:
        """Keys that change nothing but what is looked at."""
        if key in self._actions:
            return False
        match key:
            case "up" | "k" | "down" | "j":
                self._move(_STEPS[key])
            case "pageup":
                self._move(-max(1, self.view.page - 1))
            case "pagedown":
                self._move(max(1, self.view.page - 1))
            case "home" | "g":
                self._move(-(2**40))
            case "end" | "G":
                self._move(2**40)
            case "left" | "shift+tab":
                self.next_tab(-1)
            case "right":
                self.next_tab()
            case "1" | "2" | "3" | "4" | "5" | "6":
                self.go_to_tab(int(key))
            case "escape":
                self._step_back()
            case _:
                return False
        return True

    def _step_back(self) -> None:
        """Out of the detail, out of merging, then back to the message."""
        if self.view.is_open:
            self.open()
        elif self.marked is not None:
            self.marked = None
            self.draw()
        else:
            self._leave("")

    def scroll_rows(self, by: int) -> None:
        """The list, or the detail, by rows."""
        self._move(by)

    def action_page_up(self) -> None:
        """Scroll a page up from the message box."""
        self._move(-max(1, self.view.page - 1))

    def action_page_down(self) -> None:
        """Scroll a page down."""
        self._move(max(1, self.view.page - 1))

    @on(events.MouseScrollUp)
    def _wheel_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._move(-_WHEEL)

    @on(events.MouseScrollDown)
    def _wheel_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._move(_WHEEL)

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
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
        if self._look is not None and self.is_attached:
            self._look = replace(self._look, palette=self.palette)
            self.draw()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._leave(event.text)
