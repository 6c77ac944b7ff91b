"""A scripted server that answers from the request alone, so that it is the same model after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..server import ScriptedServer
from ..turns import Turn

Answer = Callable[[dict[str, Any]], Turn]
"""The body of a request to its answer."""


class StatelessServer(ScriptedServer):
    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    def _next(self, body: dict[str, Any]) -> Turn:
        return self.answer(body)


def answered(body: dict[str, Any]) -> int:
    """How many answers of the model the conversation has."""
    return sum(message["role"] == "assistant" for message in body["messages"])


def in_turn(*turns: Turn) -> Answer:
    """The n-th of these to a conversation with n answers, the last one again and again."""
    return lambda body: turns[min(answered(body), len(turns) - 1)]
