"""The model interface that the core uses: count tokens, stream an answer, compute a price.

`agent/models/` implements it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from .budget import Price, Tokens
from .messages import Message, Opaque, ToolCall, ToolSpec

if TYPE_CHECKING:
    from .spec import EditFormat

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
    "chant",  # the model repeats the same text again and again
    "deadline",  # the stream exceeded our own deadline
]


class ModelFault(Exception):
    """A failed model call. Parts that arrived before the failure were already yielded."""

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
        """One line for a person; never contains a key."""
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after
        """Seconds to wait, if the provider gave a value."""
        self.usage: UsagePart | None = None
        """What the provider had reported about the call before it failed."""
        self.words = ""
        """All sentences and codes of the provider."""
        self.named: tuple[str, ...] = ()
        """Fields of the request that the provider's error names."""
        self.try_again = False
        """Whether the model now sends its requests differently, so that the call is worth repeating immediately."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    forbids_calls: bool = False
    """The answer must be text, and calls in it are ignored. `tools` are those of the calls before, so that the prompt
    begins as theirs did and a provider reads it from its cache."""
    schema: dict[str, Any] | None = None
    """The JSON Schema that the text of the answer must match."""
    max_tokens: int
    temperature: float | None = None
    """None means the server's default. A temperature in the user's own parameters always wins."""
    seconds: float | None = None
    """Time limit of the stream; after it, the fault is `deadline`. None means no limit."""
    blobs: Mapping[str, bytes] = {}
    """Content of the images and opaque parts in the messages, by digest."""


class TextPart(msgspec.Struct, frozen=True):
    text: str


class ReasoningPart(msgspec.Struct, frozen=True):
    text: str


class PromptReadPart(msgspec.Struct, frozen=True):
    """How far the server has read the prompt. Yielded before the first text, by servers that report it."""

    read: int
    """Tokens of the prompt that are read, those from the server's cache included."""
    total: int


class OpaquePart(msgspec.Struct, frozen=True):
    """Data that must be sent back to the provider with this answer. Yielded after all text, before the calls."""

    opaque: Opaque


class CallPart(msgspec.Struct, frozen=True):
    """A complete tool call, yielded after all text, once its arguments are complete."""

    call: ToolCall


class UsagePart(msgspec.Struct, frozen=True):
    """What the provider reported about the call, yielded second to last. Missing if it reported nothing.

    A server that reports in each piece (llama.cpp, vLLM) also gives the figures so far before each; the last counts.
    """

    tokens: Tokens
    """Input or output is 0 if the provider did not report it."""
    total: int = 0
    """Tokens of input and output together, if the provider reported only their sum."""
    usd: float | None = None
    """Cost of the call. None means that the provider did not report it."""


class EndPart(msgspec.Struct, frozen=True):
    """The stream ended normally. `truncated_call`: a call was cut off and is not among the yielded calls."""

    finish: Literal["stop", "tool_calls", "length", "empty", "refusal"]
    truncated_call: bool = False


Part = PromptReadPart | TextPart | ReasoningPart | OpaquePart | CallPart | UsagePart | EndPart


ServerKind = Literal["ollama", "llama.cpp", "lm-studio", "vllm", "openai-compatible"]


class ServedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a model server says about one of its models, and what rundry remembers of it (the last three fields).

    It is asked for once, when the model is opened. None means that the server does not say it, or nothing is
    remembered.
    """

    kind: ServerKind | None = None
    """Kind of the server, or None if nothing was asked, as with a hosted provider."""
    self_hosted: bool = False
    """Whether users run this server themselves, on this machine or network. False behind a proxy of a provider."""
    parameters: int | None = None
    """Number of weights. If a self-hosted server does not say it, the size in the model's own name (`-1.5b-`)."""
    template_knows_tools: bool | None = None
    """Whether the chat template shows the tools to the model. Without that, the model cannot call them."""
    slots: int | None = None
    """Number of requests that the server answers at the same time."""
    temperature: float | None = None
    """Temperature of a request that does not name one."""
    edit_format: str | None = None
    """The edit format that worked with this model on this server in earlier runs or in a trial, or None if not
    known."""
    read_speed: float | None = None
    """Tokens of a prompt that the server read per second, when it was last measured."""
    write_speed: float | None = None
    """Tokens of an answer that the server wrote per second, when it was last measured."""


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def local(self) -> bool:
        """Whether the server is on this machine or the local network."""
        ...

    @property
    def window(self) -> int:
        """Maximum number of tokens of prompt and answer together."""
        ...

    @property
    def max_output(self) -> int | None:
        """Maximum number of tokens of one answer, if the provider has such a limit."""
        ...

    @property
    def limits_output(self) -> bool:
        """Whether the server accepts a limit of the answer. If not, each answer may have `max_output` tokens."""
        ...

    @property
    def sees_images(self) -> bool | None:
        """Whether the model accepts images, or None if unknown."""
        ...

    @property
    def served(self) -> ServedFacts | None:
        """What the model's server says about it, or None if there is no server."""
        ...

    @property
    def price(self) -> Price | None:
        """The price per token, or None if unknown. A local model without a price is FREE."""
        ...

    def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Count the tokens of a prompt with this program's own method."""
        ...

    def count_text(self, text: str) -> int:
        """Count the tokens of a text, to estimate the usage of an interrupted stream."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Part]:
        """Stream the answer. Raises ModelFault. Closing the iterator closes the connection immediately."""
        ...

    def remember_format(self, form: EditFormat) -> None:
        """Let later runs with this model on this server begin in this edit format, if it is the user's own server."""
        ...

    async def probe(self) -> None:
        """Test the connection. Raises Refusal for an unreachable server, a missing key or an unknown model."""
        ...
