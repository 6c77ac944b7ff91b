"""Learn about a model on the user's own server: how fast it reads and writes, and the edit format that suits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from .learned import learn

if TYPE_CHECKING:
    from ..protocol import EditFormat, ServedFacts, Tokens
    from .lanes.timer import Timer

_LEAST_READ, _LEAST_WRITTEN = 48, 24
"""Minimum tokens of a prompt and an answer in a call whose speed is measured."""
_CHANGE = 0.25
"""Share by which a speed must change before it is stored again."""
_OFTEN = 60.0
"""Seconds between two writes of changed speeds: a server whose speed varies would cost a write for each answer."""
_FIRST = 3
"""Changed speeds of a run that are written without this pause: the first answer comes while a model is loaded."""


class OwnServer:
    """What rundry measured on one model of this server, stored for later runs."""

    def __init__(self, server: str, model: str, env: Mapping[str, str], served: ServedFacts | None) -> None:
        """`model`: the name on the wire. `served`: what was remembered before."""
        self._server, self._model, self._env = server, model, env
        self.read = None if served is None else served.read_speed
        """Tokens per second, newest measurement, or None if not measured."""
        self.write = None if served is None else served.write_speed
        self._remembered = self.read, self.write
        self._stored, self._stores = float("-inf"), 0
        """When this run stored a speed, in monotonic time, and how often."""

    def known(self, served: ServedFacts) -> ServedFacts:
        """Return what is known about the model with the newest speeds."""
        return msgspec.structs.replace(served, read_speed=self.read, write_speed=self.write)

    def measure(self, tokens: Tokens, timer: Timer, ended: float) -> None:
        """Note the speeds of a whole answer: what was read is what the server did not have in its cache.

        `ended`: monotonic time.
        """
        if timer.first is None:
            return
        read, reading = tokens.in_ - tokens.cached, timer.first - timer.sent
        if read >= _LEAST_READ and reading > 0:
            self.read = read / reading
        written, writing = tokens.out - 1, ended - timer.first
        if written >= _LEAST_WRITTEN and writing > 0:
            self.write = written / writing
        before = self._remembered
        is_new = (self.read is not None and before[0] is None) or (self.write is not None and before[1] is None)
        is_due = is_new or self._stores < _FIRST or ended - self._stored >= _OFTEN
        if is_due and (_differs(self.read, before[0]) or _differs(self.write, before[1])):
            self._remembered, self._stored = (self.read, self.write), ended
            self._stores += 1
            learn(self._server, self._model, self._env, read_speed=self.read, write_speed=self.write)

    def remember_format(self, form: EditFormat) -> None:
        """Store this edit format as the one with which later runs begin."""
        learn(self._server, self._model, self._env, edit_format=form)


def _differs(new: float | None, old: float | None) -> bool:
    return new is not None and (old is None or abs(new - old) > _CHANGE * old)
