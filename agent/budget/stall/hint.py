"""The hint that a model gets when it repeats itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import StallKind


def stall_hint(kind: StallKind, signature: str) -> str:
    """Return the hint that the model gets before a stall ends anything."""
    return (
        f"You are repeating yourself ({kind}: {signature}). Doing the same again will not bring anything new. "
        "Say in one sentence what you learned, then try a different approach."
    )
