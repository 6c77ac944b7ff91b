"""Ask model servers which models they have, and what they say about each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from ..host.tls import import_aiohttp
from ..protocol import ServedFacts, ServerKind, UserError
from ..protocol.text.broken_json import BROKEN_JSON
from .faults.connection_faults import problem_of, proxy_refusal
from .lanes.connections import pieces, send, with_headers
from .lanes.proxies import proxy_for
from .served_fields import (
    abilities_in,
    ollama_knows_tools,
    ollama_parameters,
    ollama_temperature,
    ollama_window,
    parameters_in,
    props_know_tools,
    props_see_images,
    props_slots,
    props_temperature,
    props_window,
    size_in,
    window_in,
)

_LONGEST = 16 * 1024 * 1024
"""Most bytes of an answer that are read; OpenRouter's list of models has 1 MB."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a server. None means that the server does not report it."""

    name: str
    window: int | None = None
    """Most tokens of a prompt and its answer together, with the server's current settings."""
    sees_images: bool | None = None
    parameters: int | None = None
    """Number of weights."""
    template_knows_tools: bool | None = None
    """Whether the chat template shows tools to the model."""
    temperature: float | None = None
    """Temperature of a request that does not name one."""


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a server reports about itself: its kind, its address and its models."""

    kind: ServerKind
    api_base: str
    models: list[Served] = []
    slots: int | None = None
    """Number of requests that are answered at the same time. None means that the server does not report it."""

    def model(self, name: str) -> Served | None:
        """Return what is known about a model. A server with one model serves it under any name (llama.cpp)."""
        named = [m for m in self.models if m.name == name]
        found = named or (self.models if len(self.models) == 1 else [])
        return found[0] if found else None

    def facts(self, name: str, *, self_hosted: bool) -> ServedFacts:
        """Return the facts about a model. Only on a self-hosted server does the size in its name count."""
        served = self.model(name) or Served(name=name)
        named = size_in(served.name) or size_in(name) if self_hosted else None
        return ServedFacts(
            kind=self.kind,
            self_hosted=self_hosted,
            parameters=served.parameters or named,
            template_knows_tools=served.template_knows_tools,
            slots=self.slots,
            temperature=served.temperature,
        )


class NoServer(Exception):
    """There is no server at the address. The message gives the reason in a few words."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.fix = fix
        """How to fix it, as a sentence. Empty means: start the server, or give another address."""


async def ask_server(
    api_base: str,
    *,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float = 3.0,
    local: bool = True,
) -> ServerInfo:
    """Ask an OpenAI-compatible server for its models. Raises NoServer if it cannot connect."""
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    asker = _Asker(seconds, with_headers(bearer, headers or {}), local)
    base = api_base.rstrip("/")
    listing = await asker.get(f"{base}/models")
    if listing is None and not urlsplit(base).path:
        listing = await asker.get(f"{base}/v1/models")
        base = base if listing is None else f"{base}/v1"
    rows = _rows(listing)
    kind = _kind(base, rows)
    root = base.removesuffix("/v1")
    if kind == "lm-studio":
        rows = await _lm_studio_rows(asker, root) or rows
    models = [_served(row, kind) for row in rows]
    slots = None
    if kind == "llama.cpp" or (kind == "openai-compatible" and all(m.window is None for m in models)):
        props = await asker.get(f"{root}/props")
        window, slots = props_window(props), props_slots(props)
        if window is not None:
            kind = "llama.cpp"
            models = [_with_props(m, props, window) for m in models or [Served(name="")]]
    return ServerInfo(kind=kind, api_base=base, models=models, slots=slots)


def _served(row: dict[str, Any], kind: ServerKind) -> Served:
    tools, images = abilities_in(row) if kind == "lm-studio" else (None, None)  # gateways use names of their own
    return Served(
        name=str(row.get("id", "")),
        window=window_in(row),
        sees_images=images,
        parameters=parameters_in(row),
        template_knows_tools=tools,
    )


def _with_props(served: Served, props: dict[str, Any] | None, window: int) -> Served:
    return msgspec.structs.replace(
        served,
        window=window,
        sees_images=props_see_images(props),
        template_knows_tools=props_know_tools(props),
        temperature=props_temperature(props),
    )


async def _lm_studio_rows(asker: _Asker, root: str) -> list[dict[str, Any]]:
    """Return LM Studio's own list (v0), with the number of weights from its newer one (v1, since 0.4.0)."""
    rows = _rows(await asker.get(f"{root}/api/v0/models"))
    newer = await asker.get(f"{root}/api/v1/models") if rows else None
    sizes = {str(m.get("key")): m.get("params_string") for m in _dicts((newer or {}).get("models"))}
    return [{**row, "params_string": sizes.get(str(row.get("id")))} for row in rows]


async def list_ollama(api_base: str, *, seconds: float = 3.0, local: bool = True) -> list[str]:
    """Return the names of an Ollama server's models. Raises NoServer."""
    tags = await _Asker(seconds, {}, local).get(f"{api_base}/api/tags")
    if tags is None:
        raise NoServer("its answer is not Ollama's")
    return [str(m.get("name") or m.get("model")) for m in _dicts(tags.get("models"))]


async def show_ollama(api_base: str, model: str, *, seconds: float = 5.0, local: bool = True) -> Served | None:
    """Ask Ollama about one model; None if it does not have the model. Raises NoServer."""
    answer = await _Asker(seconds, {}, local).send("POST", f"{api_base}/api/show", {"model": model})
    if answer is None:
        raise NoServer(f"no answer within {seconds:g} s")
    if answer.status == 404:
        return None
    shown = answer.object or {}
    _, images = abilities_in(shown)
    return Served(
        name=model,
        window=ollama_window(shown),
        sees_images=images,
        parameters=ollama_parameters(shown),
        template_knows_tools=ollama_knows_tools(shown),
        temperature=ollama_temperature(shown),
    )


class _Asker:
    """Sends requests to one server, each with the same time-out in seconds."""

    def __init__(self, seconds: float, headers: Mapping[str, str], local: bool) -> None:
        self._seconds, self._headers, self._local = seconds, dict(headers), local

    async def get(self, url: str) -> dict[str, Any] | None:
        """Return the JSON object at the address; None for any other answer or after the time-out. Raises NoServer."""
        answer = await self.send("GET", url)
        return None if answer is None else answer.object

    async def send(self, method: str, url: str, body: object = None) -> Answered | None:
        """Return status and object; None if the answer is missing or incomplete. Raises NoServer."""
        return await ask(method, url, seconds=self._seconds, headers=self._headers, local=self._local, body=body)


class Answered(msgspec.Struct, frozen=True):
    """A server's answer to one request."""

    status: int
    object: dict[str, Any] | None
    """The JSON object of a 200; None for anything else."""


async def ask(
    method: str, url: str, *, seconds: float, headers: Mapping[str, str], local: bool, body: object = None
) -> Answered | None:
    """Send one small request. Return None without a usable answer in time. Raises NoServer if it cannot connect."""
    import_aiohttp()
    import aiohttp

    data = None if body is None else msgspec.json.encode(body)
    sent = {**headers, **({} if data is None else {"Content-Type": "application/json"})}
    try:
        proxy = proxy_for(url, local=local)
    except UserError as e:
        raise NoServer(str(e), "Change the variable, then start again") from e
    try:
        async with await send(method, url, headers=sent, local=local, data=data, seconds=seconds) as answer:
            if answer.status == 407:
                problem = proxy_refusal(407, "", proxy)
                raise NoServer(problem.what, problem.fix)
            raw = b"".join([piece async for piece in pieces(answer, _LONGEST)])
            return Answered(answer.status, _object(raw) if answer.status == 200 else None)
    except (aiohttp.ClientError, TimeoutError) as e:
        if (problem := problem_of(e, url, proxy)) is None:
            return None
        refused = problem.what == "connection refused"
        raise NoServer(problem.what, "" if refused else problem.fix) from e
    except ValueError as e:
        raise NoServer("it is not a valid address") from e


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(raw)
    except BROKEN_JSON:
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _rows(listing: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if listing is None else _dicts(listing.get("data"))


def _dicts(value: object) -> list[dict[str, Any]]:
    items = cast(list[object], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], i) for i in items if isinstance(i, dict)]


def _kind(base: str, rows: list[dict[str, Any]]) -> ServerKind:
    owners = {str(r.get("owned_by", "")) for r in rows}
    if "llamacpp" in owners:
        return "llama.cpp"
    if "vllm" in owners:
        return "vllm"
    if urlsplit(base).port == 1234 or "organization_owner" in owners:
        return "lm-studio"
    return "openai-compatible"
