"""What the core knows of a model: it counts, it streams, it has a price. `model/` speaks to the real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from .budget import Price, Tokens
from .messages import Message, Opaque, ToolCall, ToolSpec

FaultKind = Literal[
    "rate-limit",  # 429; retryable
    "quota",  # the account is out of money: not retryable now
    "server",  # 5xx, connection refused or reset; retryable
    "timeout",  # no answer in time; retryable
    "stalled",  # the stream stopped sending; retryable
    "cut",  # the stream ended in the middle; retryable
    "context",  # the prompt is too long for the window: trim, once
    "auth",  # 401, 403: not retryable
    "unknown-model",  # 404: not retryable
    "bad-request",  # other 4xx: not retryable
    "filtered",  # refused by the provider's filter: not retryable
    "bad-reply",  # HTML, broken JSON: probably no model server
    "chant",  # the same piece again and again
    "deadline",  # our own deadline cut the stream
]


class ModelFault(Exception):
    """A call failed. What had arrived before was already yielded."""

    def __init__(
        self,
        kind: FaultKind,
        text: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(text)
        self.kind: FaultKind = kind
        self.text = text
        """One line for a person; holds no key."""
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after
        """Seconds, where the provider said so."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    schema: dict[str, Any] | None = None
    """The JSON Schema that the answer's text is to fit."""
    max_tokens: int
    seconds: float | None = None
    """The stream is cut after so long (fault `deadline`); None: no limit."""
    blobs: Mapping[str, bytes] = {}
    """Content of the images and opaque parts of the messages, by digest."""


class TextPart(msgspec.Struct, frozen=True):
    text: str


class ReasoningPart(msgspec.Struct, frozen=True):
    text: str


class OpaquePart(msgspec.Struct, frozen=True):
    """What has to go back to the provider with this answer; after all text, before the calls."""

    opaque: Opaque


class CallPart(msgspec.Struct, frozen=True):
    """A whole tool call, yielded once its arguments are complete; after all text."""

    call: ToolCall


class UsagePart(msgspec.Struct, frozen=True):
    """Comes last but one; not at all where the provider said nothing."""

    tokens: Tokens


class EndPart(msgspec.Struct, frozen=True):
    """The stream ended by itself. `truncated_call`: a call was cut and is not among the calls."""

    finish: Literal["stop", "tool_calls", "length", "empty", "refusal"]
    truncated_call: bool = False


Part = TextPart | ReasoningPart | OpaquePart | CallPart | UsagePart | EndPart


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def local(self) -> bool:
        """Its server is on this machine or network."""
        ...

    @property
    def window(self) -> int:
        """Tokens of prompt and answer together."""
        ...

    @property
    def max_output(self) -> int | None:
        """Tokens of one answer, where the provider has such a limit."""
        ...

    @property
    def sees_images(self) -> bool | None:
        """It accepts images; None: not known."""
        ...

    @property
    def price(self) -> Price | None:
        """None: unpriced. A local model without a price is FREE."""
        ...

    def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Prompt tokens by our own count."""
        ...

    def count_text(self, text: str) -> int:
        """Tokens of a text: for estimates of what a cut stream brought."""
        ...

    def bill(self, tokens: Tokens) -> float | None:
        """USD for these tokens at the usual rates, cached ones at theirs; None when unpriced."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Part]:
        """Raises ModelFault. Closing the iterator closes the connection at once."""
        ...

    async def probe(self) -> None:
        """Raises Refusal where the server cannot be reached, the key is missing or the model is unknown."""
        ...
