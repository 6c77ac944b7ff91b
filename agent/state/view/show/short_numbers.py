"""Format numbers in few characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.text.counts import plural

if TYPE_CHECKING:
    from ....protocol import Held


def short(count: float) -> str:
    """Format a count: `950`, `4.2k`, `48k`, `1.2M`."""
    if count < 1_000:
        return str(round(count))
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size * 0.9995:
            value = count / size
            return f"{value:.1f}".removesuffix(".0") + unit if value < 9.95 else f"{value:.0f}{unit}"
    return str(round(count))


def clock(seconds: float) -> str:
    """Format a duration: `1:12`, `1:02:03`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(usd: float) -> str:
    """Format an amount: `0.14`, `12.50`; small amounts have four decimals: `0.0042`."""
    if 0 < usd < 0.1:
        return f"{usd:.4f}".rstrip("0") if usd >= 0.0001 else "under 0.0001"
    return f"{usd:.2f}"


def held_words(held: Held) -> str:
    """Describe what may have been billed in addition: `held: up to 4,242 tokens, $0.0123 for 1 call that was cut`.

    Empty if nothing is held.
    """
    if not held:
        return ""
    usd = f", ${money(held.usd)}" if held.usd else ""
    calls = f"{plural(held.cut_calls, 'call')} that {'was' if held.cut_calls == 1 else 'were'} cut"
    why = calls if held.cut_calls else "calls whose usage is unknown"
    return f"held: up to {held.tokens:,} tokens{usd} for {why}"
