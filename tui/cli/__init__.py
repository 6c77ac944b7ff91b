"""Command line of rundry. Imports only click, and nothing of the screen."""

from .root import main

__all__ = ["main"]
