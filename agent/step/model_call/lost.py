"""Charge the calls that were running when a runner died. Their bill is unknown, so the worst case is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...protocol import Charged, Tokens, bill

if TYPE_CHECKING:
    from ..resources.context import RunContext


def charge_lost_calls(ctx: RunContext, arrived: Mapping[str | None, str]) -> None:
    """Charge what arrived as an estimate, and hold the rest of the admitted worst case against the limits.

    `arrived`: for each conversation, the text of the answer that was cut off.
    """
    for work, admitted in list(ctx.facts.admitted.items()):
        known = admitted.model in ("", ctx.models.current.name)
        tokens = Tokens(admitted.prompt_tokens, ctx.models.current.count_text(arrived.get(work, "")))
        usd = bill(ctx.models.current.price, tokens) if known else admitted.worst_usd
        ctx.events.record(
            Charged(
                tokens_in=tokens.in_,
                tokens_out=tokens.out,
                usd=None if admitted.worst_usd is None else usd,
                estimated=True,
                held_tokens=max(0, admitted.worst_tokens - tokens.total),
                held_usd=max(0.0, (admitted.worst_usd or 0.0) - (usd or 0.0)),
                is_cut=True,
                model=admitted.model,
            ),
            work=work,
        )
