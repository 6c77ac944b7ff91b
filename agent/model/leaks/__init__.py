"""Tool calls and reasoning that a model writes into its text, recognised per model family."""

from .reader import LeakReader

__all__ = ["LeakReader"]
