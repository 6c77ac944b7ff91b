"""Usage of a run by model."""

from __future__ import annotations

import msgspec

from ...protocol import Charged, ModelShare


def add_charge(shares: dict[str, ModelShare], charged: Charged) -> None:
    """Add a call to its model's share."""
    known = shares.get(charged.model) or ModelShare(model=charged.model)
    usd = None if known.usd is None or charged.usd is None else known.usd + charged.usd
    shares[charged.model] = msgspec.structs.replace(
        known,
        calls=known.calls + 1,
        tokens_in=known.tokens_in + charged.tokens_in,
        tokens_out=known.tokens_out + charged.tokens_out,
        usd=usd,
    )
