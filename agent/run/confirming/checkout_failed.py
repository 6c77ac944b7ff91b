"""The error for a result that could be neither confirmed nor refuted."""

from __future__ import annotations

from ...protocol import RundryError


class CheckoutFailed(RundryError):
    """A clean checkout of the result cannot be made here; the text says why, in one line."""
