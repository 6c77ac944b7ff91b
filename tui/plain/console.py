"""Where a session without a screen prints lines and asks questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Console(Protocol):
    """The terminal of a session in lines, or the conversation in an editor."""

    def tell(self, text: str) -> None:
        """Print a line."""
        ...

    def leave_for(self, what: str) -> None:
        """Leave, and open another run, as `ViewResult.next` names it. Raises RundryError where that is not possible."""
        ...

    def ask(self, question: str, answered: Callable[[str], None]) -> None:
        """Print a question, and pass the next line to `answered`."""
        ...
