"""Compute the smallest window that a run works with."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...protocol import Message, ToolSpec
from .fit_fixed_part import Count, shortest_fixed

ROUND = 256
"""Tokens for the newest round: the model's answer, its calls and their results."""


def output_room(window: int, max_output: int | None) -> int:
    """Return the tokens of the window that are kept for the answer."""
    room = min(max(window // 4, 256), 4096)
    return min(room, max_output) if max_output else room


def prompt_room(window: int, max_output: int | None) -> int:
    """Return the tokens that the prompt may use."""
    return window - output_room(window, max_output)


def needed_room(
    system: str, tools: Sequence[ToolSpec], task: str, count: Count, *, needed: Collection[str] = (), more: str = ""
) -> int:
    """Return the tokens of the shortest prompt that still has the task and room for a round.

    `more`: a text that is part of each round.
    """
    fixed = shortest_fixed(system, tools, needed)
    messages = [Message(role="system", text=fixed.system), Message(role="user", text=task)]
    if more:
        messages.append(Message(role="user", text=more))
    return count(messages, fixed.tools) + ROUND


def smallest_window(room: int, *, max_output: int | None = None) -> int:
    """Return the smallest window in which the prompt may use `room` tokens."""
    low, high = room, room * 2 + 512
    while low < high:
        middle = (low + high) // 2
        if prompt_room(middle, max_output) >= room:
            high = middle
        else:
            low = middle + 1
    return low
