"""The message box, with its history, completions and folded pastes."""

from .box import MessageBox
from .row import MessageRow

__all__ = ["MessageBox", "MessageRow"]
