"""Ask model servers for their models and the sizes of the context windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import msgspec

from ..protocol import UserError
from ..protocol.text.broken_json import BROKEN_JSON
from ..system.tls import import_aiohttp, tls
from .faults.connection import problem_of, proxy_refusal
from .lanes.connections import pieces, pool
from .lanes.proxies import proxy_for

ServerKind = Literal["ollama", "llama.cpp", "lm-studio", "vllm", "openai-compatible"]

OLLAMA_CONTEXT = 32_768
"""Context window requested from Ollama if neither the user nor the model's own file sets one. The cache for a model's
whole window would take tens of gigabytes. `--context` requests more."""


_LONGEST = 16 * 1024 * 1024
"""Most bytes of an answer that are read; OpenRouter's list of models has 1 MB."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a server."""

    name: str
    window: int | None = None
    """Most tokens of a prompt and its answer together, with the server's current settings."""
    sees_images: bool | None = None
    """None: the server does not report it."""


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a server reports about itself: its kind, its address and its models."""

    kind: ServerKind
    api_base: str
    models: list[Served] = []

    def window_of(self, model: str) -> int | None:
        """Return the model's window. A server with one model serves it under any name (llama.cpp)."""
        named = [m for m in self.models if m.name == model]
        found = named or (self.models if len(self.models) == 1 else [])
        return found[0].window if found else None


class NoServer(Exception):
    """There is no server at the address. The message gives the reason in a few words."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.fix = fix
        """How to fix it, as a sentence; empty: start the server, or give another address."""


async def ask_server(api_base: str, *, key: str | None = None, seconds: float = 3.0, local: bool = True) -> ServerInfo:
    """Ask an OpenAI-compatible server for its models. Raises NoServer if it cannot connect."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    asker = _Asker(seconds, headers, local)
    base = api_base.rstrip("/")
    listing = await asker.get(f"{base}/models")
    if listing is None and not urlsplit(base).path:
        listing = await asker.get(f"{base}/v1/models")
        base = base if listing is None else f"{base}/v1"
    rows = _rows(listing)
    kind = _kind(base, rows)
    root = base.removesuffix("/v1")
    if kind == "lm-studio":
        rows = _rows(await asker.get(f"{root}/api/v0/models")) or rows
    models = [Served(name=str(r.get("id", "")), window=_window(r)) for r in rows]
    if kind == "llama.cpp" or (kind == "openai-compatible" and all(m.window is None for m in models)):
        slots = _slot_window(await asker.get(f"{root}/props"))
        if slots is not None:
            kind = "llama.cpp"
            models = [msgspec.structs.replace(m, window=slots) for m in models] or [Served(name="", window=slots)]
    return ServerInfo(kind=kind, api_base=base, models=models)


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
    abilities = shown.get("capabilities")
    sees = "vision" in cast("list[object]", abilities) if isinstance(abilities, list) else None
    return Served(name=model, window=_ollama_window(shown), sees_images=sees)


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
    context = tls() if url.startswith("https:") else True
    times = aiohttp.ClientTimeout(total=seconds)
    sent = {**headers, **({} if data is None else {"Content-Type": "application/json"})}
    try:
        proxy = proxy_for(url, local=local)
    except UserError as e:
        raise NoServer(str(e), "Change the variable, then start again") from e
    try:
        async with pool().request(
            method, url, data=data, headers=sent, timeout=times, allow_redirects=False, ssl=context,
            proxy=None if proxy is None else proxy.url,
        ) as answer:  # fmt: skip
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


def _window(row: dict[str, Any]) -> int | None:
    """Return the context window: LM Studio `loaded_context_length`, vLLM `max_model_len`, llama.cpp `n_ctx`."""
    meta = row.get("meta")
    fields = {**row, **(cast(dict[str, Any], meta) if isinstance(meta, dict) else {})}
    names = (
        "loaded_context_length", "max_model_len", "n_ctx", "context_length", "context_window",
        "max_context_length", "n_ctx_train",
    )  # fmt: skip
    return next((n for name in names if (n := _positive(fields.get(name))) is not None), None)


def _slot_window(props: dict[str, Any] | None) -> int | None:
    """Return the tokens of one slot from llama.cpp's `/props`: the most that a request can use."""
    settings = None if props is None else props.get("default_generation_settings")
    return _positive(cast(dict[str, Any], settings).get("n_ctx")) if isinstance(settings, dict) else None


def _ollama_window(shown: dict[str, Any]) -> int | None:
    for line in str(shown.get("parameters", "")).splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdigit():
            return int(value)
    info = shown.get("model_info")
    fields = cast(dict[str, Any], info) if isinstance(info, dict) else {}
    trained = next((n for k, v in fields.items() if k.endswith(".context_length") and (n := _positive(v))), None)
    return None if trained is None else min(trained, OLLAMA_CONTEXT)


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
