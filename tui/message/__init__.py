"""Where the person types: the box, its history, its completions, its folded pastes."""

from .box import MessageBox
from .row import MessageRow

__all__ = ["MessageBox", "MessageRow"]
