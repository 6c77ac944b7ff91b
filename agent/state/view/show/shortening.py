"""Describe what did not fit into the model's context window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import duration
from ....protocol.text.counts import plural

if TYPE_CHECKING:
    from ....protocol import ContextTrimmed, PromptShortened


def trim_words(event: ContextTrimmed) -> str:
    """Describe a trimmed context: `3 older messages left the window, 1 text shortened`."""
    parts = [f"{plural(event.dropped_messages, 'older message')} left the window"] if event.dropped_messages else []
    parts += [f"{plural(event.shortened, 'text')} shortened to fit the window"] if event.shortened else []
    parts += [f"{plural(event.images, 'image')} replaced by text"] if event.images else []
    return ", ".join(parts) or "the context was trimmed"


def shortening_lines(event: PromptShortened) -> list[str]:
    """Describe what was shortened or removed, one line each."""
    why = f"window of {event.window:,} tokens"
    if event.seconds is not None:
        why = f"this server would read everything in {duration(event.seconds)}"
    lines: list[str] = []
    if event.file and event.kept:
        lines.append(f"{event.file} is shortened: {event.kept:,} of {event.length:,} characters are sent ({why})")
    elif event.file:
        lines.append(f"{event.file} is not sent: no space for its {event.length:,} characters ({why})")
    if event.brief_tools:
        lines.append(f"tools are described in one sentence each ({why})")
    if event.tools_left_out:
        lines.append(f"tools that are not offered: {', '.join(event.tools_left_out)} ({why})")
    return lines
