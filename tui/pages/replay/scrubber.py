"""The scrubber: the position of the replay, its speed, and its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from rundry.agent import clock

from ...keys.clicks import pressable
from ...keys.screen_keymap import ScreenKeymap, keymap_of

if TYPE_CHECKING:
    from .player import Player

_SPEEDS = "replay_speed_1 replay_speed_2 replay_speed_3 replay_speed_4"
_KEYS = (
    ("replay_play", "play, pause", 0),
    (_SPEEDS, "speed", 0),
    ("replay_step_back replay_step", "step", 0),
    ("replay_event_back replay_event", "event", 2),
    ("replay_start replay_end", "", 3),
    ("replay_leave", "leave", 0),
)
"""Actions with their rank: a higher rank is dropped earlier if there is no room for all."""
_SEARCH_KEYS = (
    ("replay_play", "play, pause", 0),
    (_SPEEDS, "speed", 0),
    ("replay_step_back replay_step", "pass", 0),
    ("replay_event_back replay_event", "event", 4),
    ("replay_start replay_end", "", 5),
    ("view", "views", 1),
    ("only", "filter", 6),
    ("detail", "open", 3),
    ("replay_board", "transcript", 2),
    ("replay_leave", "leave", 0),
)


class Scrubber(Widget):
    """Two rows: the track with the position on it, and the keys."""

    DEFAULT_CSS = """
    Scrubber { height: 3; padding: 0 1; border-top: solid $rule; }
    """

    class Picked(Message):
        """The person clicked on the track; `share` is the clicked share of the run."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player
        self._track = (0, 0)
        self._said: tuple[object, ...] = ()

    def show(self) -> None:
        """Redraw the scrubber if position, speed or width changed."""
        player = self._player
        said = (player.timeline.position, player.place, player.speed, player.playing, self.size.width)
        if said != self._said:
            self._said = said
            self.refresh()

    def render(self) -> Content:
        """Return the row with the track and the row with the keys."""
        return Content("\n").join([self._place(), self._keys()])

    def on_click(self, event: events.Click) -> None:
        """Go to the clicked position of the track."""
        start, width = self._track
        x = event.get_content_offset_capture(self).x
        if event.get_content_offset_capture(self).y == 0 and start <= x < start + width:
            self.post_message(self.Picked((x - start) / max(1, width - 1)))

    def _place(self) -> Content:
        player, timeline = self._player, self._player.timeline
        sign = "▶" if player.playing else "■" if player.is_at_end else "‖"
        left = f"{sign} {player.speed:>2}x  "
        passed = max(0.0, (timeline.state.last_at or timeline.began_at) - timeline.began_at)
        length = max(0.0, timeline.ended_at - timeline.began_at)
        mark = f"{timeline.unit} {timeline.number}/{timeline.marks[-1].number}   " if timeline.marks else ""
        right = f"  {mark}{clock(passed)}/{clock(length)}   event {timeline.position:,}/{timeline.last:,}"
        width = max(8, self.size.width - len(left) - len(right))
        at = min(width - 1, round(timeline.position / max(1, timeline.last) * (width - 1)))
        self._track = (len(left), width)
        return Content.assemble(
            (left, "bold $accent"),
            ("━" * at, "$accent"),
            ("●", "bold $bright"),
            ("─" * (width - at - 1), "$meter-track"),
            (right, "$foreground"),
        )

    def _keys(self) -> Content:
        table = _SEARCH_KEYS if self._player.timeline.is_search else _KEYS
        words = [(_word(keymap_of(self), names, about), early) for names, about, early in table]
        words = [(word, early) for word, early in words if word]
        while sum(word.cell_length + 3 for word, _ in words) - 3 > self.size.width:
            goes = max(words, key=lambda each: each[1])
            if not goes[1]:
                break
            words.remove(goes)
        return Content("   ").join([word for word, _ in words])


def _word(keymap: ScreenKeymap, names: str, about: str) -> Content:
    """Return the keys and what they do; neighbouring digits are one range, `1-4`."""
    keys = [keymap.shown(name) for name in names.split()]
    if "".join(keys) != "1234":
        return keymap.press(names, about, style="bold $foreground")
    return pressable(Content.assemble(("1-4", "bold $foreground"), (f" {about}", "$dim")), keys[0])
