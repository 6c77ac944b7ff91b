"""Call one model on a server: its price, its context window, and its streamed answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from ..protocol import (
    EditFormat,
    Message,
    ModelFault,
    Part,
    Price,
    PromptReadPart,
    Refusal,
    Request,
    ServedFacts,
    ToolSpec,
    Unreachable,
)
from .answer import Answer, Shown
from .ask_servers import NoServer, ask, ask_server, list_ollama
from .counting import Counter
from .endpoint import NO_KEY, Endpoint
from .lanes.anthropic_request import anthropic_headers
from .lanes.connections import with_headers
from .lanes.timer import StallTimeouts, Timer
from .litellm_use.credentials import missing_key
from .litellm_use.load_litellm import begin_loading, is_loaded, load_litellm
from .provider_traits import traits_of
from .written_calls.call_reader import CallReader

if TYPE_CHECKING:
    from .own_server import OwnServer
    from .reported_usage import ReportedUsage
    from .request_fields import RequestFields
    from .server_tokenizer import SampleSizes

_CHECK_SECONDS = 5.0


class Lane(Protocol):
    """A connection to a model server.

    `lanes/direct_lane.py` connects directly, `lanes/via_litellm/` through litellm, `demo/` to the scripted model.
    """

    @property
    def fields(self) -> RequestFields | None:
        """The optional fields of its requests, or None if there is no server that could refuse one."""
        ...

    def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield what can be shown; the rest is in `answer` at the end. Raises ModelFault."""
        ...


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a model before the first call."""

    window: int
    """Tokens of prompt and answer together."""
    window_known: bool = True
    """False means that `window` is an assumption, because neither user nor server nor table gives it."""
    max_output: int | None = None
    """Most tokens of one answer that are asked for."""
    listed_output: int | None = None
    """Most tokens that the model can write in one answer, by the table, or None if unknown."""
    price: Price | None = None
    sees_images: bool | None = None
    """None means unknown."""
    served: ServedFacts | None = None
    """What the server says about the model, or None if there is no server."""


class LitellmChecks(NamedTuple):
    """What is checked before the first call of a model that needs litellm. Both raise Refusal."""

    credentials: Callable[[], Awaitable[None]]
    """Whether litellm could make a call."""
    chat: Callable[[], Awaitable[None]] | None
    """Whether litellm has chat models of the provider, after its import. None means that it is known to have some."""


class RemoteModel:
    """A `protocol.Model` that uses a lane. It never retries; `step` does, visibly and within the budget."""

    def __init__(
        self,
        at: Endpoint,
        lane: Lane,
        facts: ModelFacts,
        *,
        name: str,
        timeouts: StallTimeouts,
        reads_written_calls: bool = False,
        checks: LitellmChecks | None = None,
        sizes: SampleSizes | None = None,
    ) -> None:
        """Create a model over the lane.

        `checks`: None for a model that does not need litellm. `sizes`: what the server's own tokenizer says about the
        samples, to scale our counts.
        """
        self.name = name
        self.facts = facts
        self._at = at
        self._lane = lane
        self._timeouts = timeouts
        self._reads_written_calls = reads_written_calls
        self._fields = lane.fields
        self._checks = checks
        self._counter = Counter(at.model, sizes)
        self._loading: asyncio.Future[int] | None = None
        self.own_server: OwnServer | None = None
        """What is learned about a server that the user runs."""
        self.notes: list[str] = []
        """Notes for the person before the first call, one line each."""

    @property
    def local(self) -> bool:
        """Whether the server is on this machine or network."""
        return self._at.local

    @property
    def server(self) -> str:
        """The server's address; the provider's name for its own address."""
        return self._at.api_base or self._at.provider

    @property
    def wire_name(self) -> str:
        """The model's name without the provider."""
        return self._at.model

    @property
    def window(self) -> int:
        """Size of the context window: tokens of prompt and answer together."""
        return self.facts.window

    @property
    def window_known(self) -> bool:
        """Whether the size of the window is known; otherwise it is an assumption."""
        return self.facts.window_known

    @property
    def max_output(self) -> int | None:
        """Most tokens that the model writes in one answer."""
        if self._fields is None:
            return self.facts.max_output
        if not self._fields.limits_output:
            return self.facts.listed_output or self.facts.window
        return min((n for n in (self.facts.max_output, self._fields.largest_output) if n is not None), default=None)

    @property
    def limits_output(self) -> bool:
        """Whether the server accepts a limit of the answer. If not, each answer may have `max_output` tokens."""
        return self._fields is None or self._fields.limits_output

    @property
    def sees_images(self) -> bool | None:
        """Whether the model accepts images, or None if unknown."""
        return self.facts.sees_images

    @property
    def served(self) -> ServedFacts | None:
        """What the server says about the model, or None if there is no server (the scripted model)."""
        served = self.facts.served
        return served if served is None or self.own_server is None else self.own_server.known(served)

    @property
    def price(self) -> Price | None:
        """Price per token. None means that the price is unknown."""
        return self.facts.price

    def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Count the tokens of a prompt locally."""
        return self._counter.prompt(messages, tools, provider=self._at.opaque_provider)

    def load_encoding(self) -> None:
        """Start to load the tokenizer's encoding in a thread (0.2 s, once). Counts wait until it is loaded."""
        self._loading = asyncio.get_running_loop().run_in_executor(None, self._counter.text, "the first count")

    async def encoding_loaded(self) -> None:
        """Wait until the encoding is loaded, so that counting does not block."""
        if self._loading is not None:
            await self._loading

    def count_text(self, text: str) -> int:
        """Count the tokens of a text."""
        return self._counter.text(text)

    def remember_format(self, form: EditFormat) -> None:
        """Let later runs with this model on this server begin in this edit format, if it is the user's own."""
        if self.own_server is not None:
            self.own_server.remember_format(form)

    async def probe(self) -> None:
        """Raise Refusal if the server cannot be reached, the key is missing or the model is unknown.

        Start to import litellm if the first call needs it.
        """
        if self._checks is not None:
            await self._checks.credentials()
        await _check_reachable(self._at, self.name)
        if self.needs_litellm:
            begin_loading()

    @property
    def needs_litellm(self) -> bool:
        """Whether the first call would have to wait until litellm is imported."""
        return self._checks is not None and not is_loaded()

    async def prepare(self) -> None:
        """Import litellm if the first call needs it. Raises Refusal if it has no chat models of the provider."""
        if self._checks is not None:
            await load_litellm()
            if self._checks.chat is not None:
                await self._checks.chat()

    def _be_more_patient(self) -> None:
        """Wait twice as long for the first piece of later answers, because they would time out, too."""
        first = max(self._timeouts.first, min(2 * self._timeouts.first, self._timeouts.kept_alive))
        self._timeouts = msgspec.structs.replace(self._timeouts, first=first)

    async def _learn(self, usage: ReportedUsage, timer: Timer) -> None:
        """Remember the speeds of an answer, and the request fields that the server accepted."""
        if self.own_server is not None and usage:
            self.own_server.measure(usage.part().tokens, timer, time.monotonic())
        if self._fields is not None:
            await self._fields.answered()

    async def stream(self, request: Request) -> AsyncGenerator[Part, None]:
        """Yield the answer as it arrives. Raises ModelFault. Closing the generator closes the connection."""
        if self._at.lacks_key:
            raise ModelFault("auth", missing_key(self._at))
        call_reader = CallReader(() if request.forbids_calls else request.tools) if self._reads_written_calls else None
        answer = Answer(max_tokens=request.max_tokens, call_reader=call_reader)
        timer = Timer(self._at, self._timeouts, request.seconds)
        limited = self.limits_output
        try:
            async with aclosing(self._lane.stream(request, answer, timer)) as shown:
                async for part in shown:
                    if answer.usage_so_far.output and not isinstance(part, PromptReadPart):
                        yield answer.usage_so_far.part()
                    yield part
        except GeneratorExit:  # the caller has what it needs
            if answer.usage_so_far.output:
                await self._learn(answer.usage_so_far, timer)
            raise
        except ModelFault as fault:
            if fault.kind == "timeout" and fault.status is None:
                self._be_more_patient()
            usage = answer.usage_so_far | answer.usage
            fault.usage = usage.part() if usage else None
            if limited and not self.limits_output:
                assumed = f"the budget now assumes answers of up to {self.max_output:,} tokens"
                fault.text = f"{assumed}; {fault.text}"
            raise
        await self._learn(answer.usage, timer)
        for part in answer.end(self._at.opaque_provider):
            yield part


async def _check_reachable(at: Endpoint, name: str) -> None:
    """Raise Refusal with the reason if the model cannot be used.

    A slow server counts as reachable, because it may be busy.
    """
    if at.provider == "demo":
        return
    if at.lacks_key:
        raise Refusal(missing_key(at))
    try:
        if at.provider == "ollama_chat" and at.api_base is not None:
            await _check_ollama(at, name)
        elif at.api_base is not None:
            await ask_server(at.api_base, key=at.key, seconds=_CHECK_SECONDS, local=at.local)
        elif (traits := traits_of(at.provider, at.model, None)) is not None and traits.knows_models:
            await _check_official(at, traits.base or "")
    except NoServer as e:
        place = at.api_base or at.provider
        if e.fix:
            raise Unreachable(f"no connection to {place}: {e}. {e.fix}") from e
        raise Unreachable(f"no model server at {place} ({e}): start it, or give another --api-base") from e


async def _check_ollama(at: Endpoint, name: str) -> None:
    assert at.api_base is not None
    names = await list_ollama(at.api_base, seconds=_CHECK_SECONDS, local=at.local)
    wanted = at.model if ":" in at.model else f"{at.model}:latest"
    if wanted not in names and at.model not in names:
        has = ", ".join(names[:8]) or "none"
        raise Refusal(f"Ollama has no model {at.model} (it has: {has}): `ollama pull {at.model}`, or another --model")


async def _check_official(at: Endpoint, base: str) -> None:
    bearer = {"Authorization": f"Bearer {at.key or NO_KEY}"}
    headers, path = with_headers(bearer, at.headers), f"{base}/models/{at.model}"
    if at.provider == "anthropic":
        headers, path = anthropic_headers(at), f"{base}/v1/models/{at.model}"
    answer = await ask("GET", path, seconds=_CHECK_SECONDS, headers=headers, local=at.local)
    if answer is None:
        return
    if answer.status in (401, 403):
        raise Refusal(f"{at.provider} refuses the key in {' or '.join(at.key_names)}: check it")
    if answer.status == 404:
        raise Refusal(f"{at.provider} has no model {at.model}: `rundry models` lists what is reachable")
