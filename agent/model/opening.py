"""Opens a model: finds its server, key, window and price, and hands out the adapter."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..journal import Redactor
from ..protocol import ModelSpec, UserError
from .adapter import LiteModel, Patience
from .demo.provider import PROVIDER as DEMO
from .demo.provider import open_demo
from .endpoint import NO_KEY, Endpoint, resolve, split_name
from .library import litellm, warm
from .prices import price_of, tariff_of, user_tariff
from .servers import NoServer, Served, ask_server, show_ollama
from .table import Entry, find

ASSUMED_WINDOW = 131_072
"""Tokens, where neither user nor server nor table says (`window_known` is then false)."""
OUTPUT_CAP = 32_768
"""Tokens of one answer, where nobody names a limit."""
_FIRST_LOCAL = 300.0
"""Seconds until the first chunk: a local model reads the prompt first, a reasoning one may think in silence."""


async def open_model(spec: ModelSpec, env: Mapping[str, str], *, patience: Patience | None = None) -> LiteModel:
    """The model that the spec names. Raises UserError for a name or an address that cannot be used.

    `spec.key_from` is the variable that holds the key: None means the provider's usual one, an empty text that no key
    may be sent. A server that does not answer is no error here: `probe` refuses it.
    `RUNDRY_STALL_SECONDS` sets how long a stream may be silent, `RUNDRY_READ_LEAKS=1` reads tool calls that a local
    model leaks as text.
    """
    await warm()
    provider, model = _split(spec)
    if provider == DEMO:
        return open_demo(spec, model, env)
    at = resolve(spec, provider, model, env)
    _reach_directly(at)
    entry = await asyncio.to_thread(find, provider, model)
    at, served = await _ask(at, entry, spec)
    window = spec.context or (served.window if served else None) or (entry.window if entry else None)
    known = window is not None
    window = window or ASSUMED_WINDOW
    marks = at.wants_cache_marks
    tariff = user_tariff(spec.price) if spec.price else tariff_of(entry, local=at.local, marks_cache=marks)
    opened = LiteModel(
        at,
        name=spec.name,
        window=window,
        window_known=known,
        max_output=min((entry.max_output if entry else None) or OUTPUT_CAP, window),
        price=price_of(entry, local=at.local, window=window, user=spec.price, marks_cache=marks),
        tariff=tariff,
        patience=patience or _patience(at, entry, env),
        redact=Redactor([] if at.key in (None, NO_KEY) else [at.key]),
        read_leaks=at.local and env.get("RUNDRY_READ_LEAKS") == "1",
        extra=_extra(at, window),
    )
    await asyncio.to_thread(opened.count_text, "the encoding loads in 0.3 s, once")
    return opened


def _split(spec: ModelSpec) -> tuple[str, str]:
    lib = litellm()
    providers = {str(getattr(p, "value", p)) for p in lib.provider_list} | {DEMO}
    if found := split_name(spec.name, has_base=spec.api_base is not None, providers=providers):
        return found
    try:
        model, provider, _, _ = lib.get_llm_provider(spec.name)
    except Exception as e:  # litellm raises its own errors and bare ones here
        raise UserError(
            f"{spec.name} names no provider: write it like openai/NAME or ollama_chat/NAME, or give --api-base"
        ) from e
    return str(provider), str(model)


async def _ask(at: Endpoint, entry: Entry | None, spec: ModelSpec) -> tuple[Endpoint, Served | None]:
    """The server's own word on the model, and its address mended where `/v1` was left out."""
    if at.api_base is None or (not at.local and (entry is not None or spec.context)):
        return at, None
    try:
        if at.provider == "ollama_chat":
            return at, await show_ollama(at.api_base, at.model, env_proxy=not at.local)
        if not _speaks_models(at.provider):
            return at, None
        word = await ask_server(at.api_base, key=at.key, env_proxy=not at.local)
    except NoServer:
        return at, None  # `probe` says so
    return _moved(at, word.api_base), Served(name=at.model, window=word.window_of(at.model))


def _speaks_models(provider: str) -> bool:
    return provider not in ("anthropic", "bedrock", "vertex_ai", "gemini", "azure")


def _moved(at: Endpoint, api_base: str) -> Endpoint:
    return msgspec.structs.replace(at, api_base=api_base)


def _reach_directly(at: Endpoint) -> None:
    """A proxy of the environment cannot reach a server on this machine or network: litellm's client goes around it."""
    host = urlsplit(at.api_base or "").hostname
    if not at.local or host is None:
        return
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [h for h in os.environ.get(name, "").split(",") if h]
        if host not in hosts:
            os.environ[name] = ",".join([*hosts, host])


def _patience(at: Endpoint, entry: Entry | None, env: Mapping[str, str]) -> Patience:
    try:
        between = float(env.get("RUNDRY_STALL_SECONDS") or 60.0)
    except ValueError as e:
        raise UserError("RUNDRY_STALL_SECONDS is no number of seconds") from e
    slow = at.local or (entry is not None and entry.reasons)
    return Patience(first=_FIRST_LOCAL if slow and "RUNDRY_STALL_SECONDS" not in env else between, between=between)


def _extra(at: Endpoint, window: int) -> dict[str, Any]:
    """What single providers need besides. Ollama cuts the prompt silently at its default window unless told."""
    return {"num_ctx": window} if at.provider == "ollama_chat" else {}
