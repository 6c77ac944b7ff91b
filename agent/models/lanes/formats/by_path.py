"""Wire formats of the providers that litellm connects to: which URL uses which format, and its reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..anthropic import AnthropicReader
from ..chat_chunks import ChatReader
from .cohere import CohereReader
from .converse import ConverseReader
from .gemini import GeminiReader
from .invoke import InvokeReader
from .responses import ResponsesReader

if TYPE_CHECKING:
    from ...answer import Answer
    from ...provider_traits import CapturedWire, WireFormat
    from ..wire_reader import Reader

_PATHS: tuple[tuple[re.Pattern[str], CapturedWire], ...] = (
    (re.compile(r":streamGenerateContent$"), "gemini"),
    (re.compile(r"/converse-stream$"), "converse"),
    (re.compile(r"/invoke-with-response-stream$"), "invoke"),
    (re.compile(r":streamRawPredict$"), "chat"),
    (re.compile(r"/v1/messages$"), "anthropic"),
    (re.compile(r"/v2/chat$"), "cohere"),
    (re.compile(r"/responses$"), "responses"),
    (re.compile(r"/chat/completions$"), "chat"),
)
"""Patterns for the end of the path, the more specific ones first."""

_READERS: dict[WireFormat, Callable[[Answer], Reader]] = {
    "anthropic": AnthropicReader,
    "chat": ChatReader,
    "cohere": CohereReader,
    "converse": ConverseReader,
    "gemini": GeminiReader,
    "invoke": InvokeReader,
    "responses": ResponsesReader,
}

ALWAYS_STREAMED = frozenset({"gemini", "converse", "invoke", "responses"})
"""Formats whose path alone shows that the answer is streamed, and the one that is also read whole (Responses)."""


def wire_of_path(path: str) -> CapturedWire | None:
    """Return the format of the path; None if only litellm can read it."""
    return next((wire for pattern, wire in _PATHS if pattern.search(path)), None)


def reader_of(wire: WireFormat, answer: Answer) -> Reader:
    """Return the reader that reads the format into the answer."""
    return _READERS[wire](answer)
