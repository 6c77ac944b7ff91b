"""The scrubber: how far the replay is, how fast it goes, and its keys."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from rundry.agent import clock

from .player import Player

_KEYS = (
    ("space", "play, pause", 0),
    ("1-4", "speed", 0),
    ("← →", "step", 0),
    (", .", "event", 2),
    ("home end", "", 3),
    ("esc", "leave", 0),
)
"""With how early each gives way where there is no room for all."""
_SEARCH_KEYS = (
    ("space", "play, pause", 0),
    ("1-4", "speed", 0),
    ("← →", "pass", 0),
    (", .", "event", 4),
    ("home end", "", 5),
    ("tab", "views", 1),
    ("f", "filter", 6),
    ("⏎", "open", 3),
    ("^l", "transcript", 2),
    ("esc", "leave", 0),
)


class Scrubber(Widget):
    """Two rows: the track with the place on it, and the keys."""

    DEFAULT_CSS = """
    Scrubber { height: 3; padding: 0 1; border-top: solid $rule; }
    """

    class Picked(Message):
        """The person clicked on the track: this share of the run."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player
        self._track = (0, 0)
        self._said: tuple[object, ...] = ()

    def show(self) -> None:
        """Redraws where something moved."""
        player = self._player
        said = (player.film.position, player.place, player.speed, player.playing, self.size.width)
        if said != self._said:
            self._said = said
            self.refresh()

    def render(self) -> Content:
        """The rows."""
        return Content("\n").join([self._place(), self._keys()])

    def on_click(self, event: events.Click) -> None:
        """On the track: go there."""
        start, width = self._track
        x = event.get_content_offset_capture(self).x
        if event.get_content_offset_capture(self).y == 0 and start <= x < start + width:
            self.post_message(self.Picked((x - start) / max(1, width - 1)))

    def _place(self) -> Content:
        player, film = self._player, self._player.film
        sign = "▶" if player.playing else "■" if player.is_at_end else "‖"
        left = f"{sign} {player.speed:>2}x  "
        passed = max(0.0, (film.state.last_at or film.began_at) - film.began_at)
        length = max(0.0, film.ended_at - film.began_at)
        mark = f"{film.unit} {film.number}/{film.marks[-1].number}   " if film.marks else ""
        right = f"  {mark}{clock(passed)}/{clock(length)}   event {film.position:,}/{film.last:,}"
        width = max(8, self.size.width - len(left) - len(right))
        at = min(width - 1, round(film.position / max(1, film.last) * (width - 1)))
        self._track = (len(left), width)
        return Content.assemble(
            (left, "bold $accent"),
            ("━" * at, "$accent"),
            ("●", "bold $bright"),
            ("─" * (width - at - 1), "$meter-track"),
            (right, "$foreground"),
        )

    def _keys(self) -> Content:
        keys = list(_SEARCH_KEYS if self._player.film.is_search else _KEYS)
        while sum(len(key) + len(about) + bool(about) + 3 for key, about, _ in keys) - 3 > self.size.width:
            goes = max(keys, key=lambda each: each[2])
            if not goes[2]:
                break
            keys.remove(goes)
        words = [(f"{key}", "bold $foreground", f" {about}" if about else "") for key, about, _ in keys]
        return Content("   ").join([Content.assemble((key, bold), (about, "$dim")) for key, bold, about in words])
