"""The error if a result can be neither confirmed nor refuted."""

from __future__ import annotations

from ...protocol import RundryError


class CheckoutFailed(RundryError):
    """A clean checkout of the result cannot be made on this machine. The text gives the reason in one line."""
