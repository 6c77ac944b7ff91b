"""The command line. Light: click alone, and nothing of the screen."""

from .root import main

__all__ = ["main"]
