"""The record of a hand-off as a page."""

from .page import HandoffPage

__all__ = ["HandoffPage"]
