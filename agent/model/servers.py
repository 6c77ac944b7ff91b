"""What a model server says of itself: which models it has and how many tokens they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    import httpx

OLLAMA_CONTEXT = 32_768
"""Tokens asked of Ollama where neither the user nor the model's own file says: its cache for a model's whole window
would take tens of gigabytes. `--context` asks for more."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a server."""

    name: str
    window: int | None = None
    """Tokens that a prompt and its answer may take as the server runs now."""


class ServerWord(msgspec.Struct, frozen=True, kw_only=True):
    """A server's answer."""

    kind: str
    """`ollama`, `llama.cpp`, `lm-studio`, `vllm` or `openai-compatible`."""
    api_base: str
    models: list[Served] = []

    def window_of(self, model: str) -> int | None:
        """The window of the model; of the only one where the name is not listed (llama.cpp takes any name)."""
        named = [m for m in self.models if m.name == model]
        found = named or (self.models if len(self.models) == 1 else [])
        return found[0].window if found else None


class NoServer(Exception):
    """Nobody answers at the address. The text says why in a few words."""


async def ask_server(
    api_base: str, *, key: str | None = None, seconds: float = 3.0, env_proxy: bool = False
) -> ServerWord:
    """Asks an OpenAI-compatible server. Raises NoServer when no connection comes about."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with _client(seconds, headers, env_proxy) as client:
        base = api_base.rstrip("/")
        listing = await _get(client, f"{base}/models")
        if listing is None and not urlsplit(base).path:
            listing = await _get(client, f"{base}/v1/models")
            base = base if listing is None else f"{base}/v1"
        rows = _rows(listing)
        kind = _kind(base, rows)
        root = base.removesuffix("/v1")
        if kind == "lm-studio":
            rows = _rows(await _get(client, f"{root}/api/v0/models")) or rows
        models = [Served(name=str(r.get("id", "")), window=_window(r)) for r in rows]
        if kind == "llama.cpp" or (kind == "openai-compatible" and all(m.window is None for m in models)):
            slots = _slot_window(await _get(client, f"{root}/props"))
            if slots is not None:
                kind = "llama.cpp"
                models = [msgspec.structs.replace(m, window=slots) for m in models] or [Served(name="", window=slots)]
        return ServerWord(kind=kind, api_base=base, models=models)


async def list_ollama(api_base: str, *, seconds: float = 3.0, env_proxy: bool = False) -> list[str]:
    """The names of the models that an Ollama server has. Raises NoServer."""
    async with _client(seconds, {}, env_proxy) as client:
        tags = await _get(client, f"{api_base}/api/tags")
        if tags is None:
            raise NoServer("it does not answer like Ollama")
        return [str(m.get("name") or m.get("model")) for m in _dicts(tags.get("models"))]


async def show_ollama(api_base: str, model: str, *, seconds: float = 5.0, env_proxy: bool = False) -> Served | None:
    """What Ollama knows of one model; None: it does not have it. Raises NoServer."""
    import httpx

    async with _client(seconds, {}, env_proxy) as client:
        try:
            answer = await client.post(f"{api_base}/api/show", json={"model": model})
        except httpx.ConnectError as e:
            raise NoServer("connection refused") from e
        except httpx.HTTPError as e:
            raise NoServer(f"no answer within {seconds:g} s") from e
        if answer.status_code == 404:
            return None
        shown = _object(answer)
        return Served(name=model, window=None if shown is None else _ollama_window(shown))


def _client(seconds: float, headers: Mapping[str, str], env_proxy: bool) -> httpx.AsyncClient:
    import httpx

    return httpx.AsyncClient(timeout=seconds, headers=dict(headers), trust_env=env_proxy)


async def _get(client: httpx.AsyncClient, url: str) -> dict[str, Any] | None:
    """The JSON object at the address; None for any other answer, or none in time. Raises NoServer."""
    import httpx

    try:
        answer = await client.get(url)
    except (httpx.ConnectError, httpx.ConnectTimeout) as e:
        raise NoServer("connection refused" if isinstance(e, httpx.ConnectError) else "no connection in time") from e
    except httpx.HTTPError:
        return None
    return _object(answer)


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    if answer.status_code != 200:
        return None
    try:
        value = msgspec.json.decode(answer.content)
    except msgspec.DecodeError:
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _rows(listing: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if listing is None else _dicts(listing.get("data"))


def _dicts(value: object) -> list[dict[str, Any]]:
    items = cast(list[object], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], i) for i in items if isinstance(i, dict)]


def _kind(base: str, rows: list[dict[str, Any]]) -> str:
    owners = {str(r.get("owned_by", "")) for r in rows}
    if "llamacpp" in owners:
        return "llama.cpp"
    if "vllm" in owners:
        return "vllm"
    if urlsplit(base).port == 1234 or "organization_owner" in owners:
        return "lm-studio"
    return "openai-compatible"


def _window(row: dict[str, Any]) -> int | None:
    """vLLM: `max_model_len`; LM Studio: `loaded_context_length`; llama.cpp: `n_ctx`; gateways: `context_length`."""
    meta = row.get("meta")
    fields = {**row, **(cast(dict[str, Any], meta) if isinstance(meta, dict) else {})}
    names = (
        "loaded_context_length", "max_model_len", "n_ctx", "context_length", "context_window",
        "max_context_length", "n_ctx_train",
    )  # fmt: skip
    return next((n for name in names if (n := _positive(fields.get(name))) is not None), None)


def _slot_window(props: dict[str, Any] | None) -> int | None:
    """llama.cpp's `/props`: the tokens of one slot, which is what a request can use."""
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
