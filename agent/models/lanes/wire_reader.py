"""The interface of the readers of wire formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..answer import Shown


class Reader(Protocol):
    """Reads one wire format into an `Answer`."""

    @property
    def done(self) -> bool:
        """Whether the answer is over, so that the rest of the stream can be ignored."""
        ...

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data and yield what can be shown."""
        ...

    def end(self) -> Iterator[Shown]:
        """Read the rest when the stream is over."""
        ...

    def is_complete(self) -> bool:
        """Whether the answer is complete, not cut by a broken connection."""
        ...
