"""Connect to a model server directly: one HTTP request, read as it streams, without litellm."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from ...protocol import ModelFault
from .anthropic import AnthropicReader
from .anthropic_request import anthropic_body, anthropic_headers
from .chat_chunks import ChatReader
from .chat_request import chat_body
from .connections import with_headers
from .exchange import EmptyStream, Outgoing, exchange
from .ollama import OllamaReader, ollama_body

if TYPE_CHECKING:
    from ...protocol import Request
    from ..answer import Answer, Shown
    from ..endpoint import Endpoint
    from ..provider_traits import Traits, Wire
    from ..remote_model import Lane
    from ..request_fields import RequestFields
    from .timer import Timer
    from .wire_reader import Reader

_READERS: dict[str, Callable[[Answer], Reader]] = {
    "chat": ChatReader,
    "anthropic": AnthropicReader,
    "ollama": OllamaReader,
}
_REQUIRED: dict[Wire, frozenset[str]] = {
    "chat": frozenset({"model", "messages", "stream", "tools"}),
    "anthropic": frozenset({"model", "messages", "stream", "tools", "system"}),
    "ollama": frozenset({"model", "messages", "stream", "tools", "options.num_ctx"}),
}
"""Fields that every request needs. A server may refuse the others."""
_OF_STREAMS = ("stream_options", "return_progress")
"""Fields that only belong to a streamed answer."""


class DirectLane:
    """A lane to one server in one wire format."""

    def __init__(self, at: Endpoint, traits: Traits, fields: RequestFields, *, window: int) -> None:
        self._at = at
        self._traits = traits
        self.fields = fields
        self._window = window

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield what can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault.

        Closing the generator closes the connection immediately. A server that ends a stream without a byte is asked
        once more without a stream, because it gives its reason only then: llama-cpp-python refuses a prompt so.
        """
        url, body, headers = self._request(request)
        try:
            async with aclosing(self._exchange(url, body, headers, answer, timer)) as shown:
                async for part in shown:
                    yield part
        except EmptyStream:
            whole = {name: value for name, value in body.items() if name not in _OF_STREAMS} | {"stream": False}
            async with aclosing(self._exchange(url, whole, headers, answer, timer)) as shown:
                async for part in shown:
                    yield part

    async def _exchange(
        self, url: str, body: dict[str, Any], headers: Mapping[str, str], answer: Answer, timer: Timer
    ) -> AsyncGenerator[Shown, None]:
        wire = self._traits.wire
        outgoing = Outgoing(
            wire=wire,
            url=url,
            data=msgspec.json.encode(self.fields.fit(body, _REQUIRED[wire], answer.sent)),
            headers=with_headers(
                {"Content-Type": "application/json", "Accept": "text/event-stream", **headers}, self._at.headers
            ),
        )
        try:
            async with aclosing(exchange(outgoing, _READERS[wire](answer), self._at, answer, timer)) as shown:
                async for part in shown:
                    yield part
        except ModelFault as fault:
            if not answer.begun:
                self.fields.settle(fault, answer.sent, {})
            raise

    def _request(self, request: Request) -> tuple[str, dict[str, Any], Mapping[str, str]]:
        at, base = self._at, self._at.api_base or self._traits.base or ""
        bearer = {} if at.key is None else {"Authorization": f"Bearer {at.key}"}
        match self._traits.wire:
            case "chat":
                return f"{base}/chat/completions", chat_body(request, at, self._traits), bearer
            case "anthropic":
                path = "/messages" if base.endswith("/v1") else "/v1/messages"
                return base + path, anthropic_body(request, at), anthropic_headers(at)
            case "ollama":
                return f"{base}/api/chat", ollama_body(request, at, self._window), bearer


class EitherEndpoint:
    """A lane to OpenAI's chat API or its Responses API, whichever the server offers for this model.

    The table says which one to expect, until the server says that the model is at the other one.
    """

    def __init__(self, chat: Lane, responses: Lane, fields: RequestFields, *, expects_responses: bool) -> None:
        self._lanes = {False: chat, True: responses}
        self.fields = fields
        self._expects_responses = expects_responses

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield what can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault."""
        found = self.fields.uses_responses
        is_responses = self._expects_responses if found is None else found
        try:
            async with aclosing(self._lanes[is_responses].stream(request, answer, timer)) as shown:
                async for part in shown:
                    yield part
        except ModelFault as fault:
            if not answer.begun:
                self.fields.settle_endpoint(fault, is_responses=is_responses)
            raise
