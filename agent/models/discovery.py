"""Discover usable models: the keys that are set, and the model servers on their usual ports."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ..protocol import FREE, UserError
from .ask_servers import NoServer, Served, ServerInfo, ask_server, list_ollama, show_ollama
from .endpoint import USUAL_BASES, base_of, is_local_server
from .found_models import KeyFound, KeyMissing, ModelLine, ServerFound, Survey
from .key_rule import KEY_NAMES
from .lanes.connections import borrowed_pool
from .litellm_use.credentials import unset_groups
from .litellm_use.needed_variables import NEEDS
from .price_table import PriceRow, whole_table
from .prices import price_of
from .provider_traits import TRAITS

_SECONDS = 1.0
"""Time-out for a server on this machine."""
_MOST = 40
"""Most models of one Ollama server whose context window is requested."""


async def discover(env: Mapping[str, str], *, addresses: Sequence[str] | None = None) -> Survey:
    """Check the environment and all usual local addresses in parallel; takes about a second at most.

    `addresses` replaces the usual ones. Never imports litellm; the price table is read only if a key is set.
    """
    found = _keys_set(env)
    places = list(addresses) if addresses is not None else _usual_addresses(env)
    async with borrowed_pool():
        servers = await asyncio.gather(*(_find_server(place) for place in places))
    keys = [KeyFound(provider=p, variable=n, models=_listed(p)) for p, n in found]
    listed = {key.variable for key in keys if key.models}
    return Survey(
        keys=[key for key in keys if key.models or key.variable not in listed],
        servers=[s for s in servers if s is not None],
        variables_asked=[names[0] for names in KEY_NAMES.values()],
        addresses_asked=places,
        missing=_missing(env),
    )


def _keys_set(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the usable providers, each with the variable that holds its key; direct ones first."""
    found = [(p, n) for p, t in TRAITS.items() if (n := next((n for n in t.keys if env.get(n)), None))]
    for provider, groups in NEEDS.items():
        if not unset_groups(provider, env):
            found.append((provider, next(n for n in groups[0] if env.get(n, "").strip())))
    return found


def _missing(env: Mapping[str, str]) -> list[KeyMissing]:
    missing = [
        KeyMissing(provider=p, needs=[list(t.keys)], direct=True)
        for p, t in TRAITS.items()
        if t.keys and p not in USUAL_BASES and not any(env.get(n) for n in t.keys)
    ]
    missing += [
        KeyMissing(provider=p, needs=[list(group) for group in NEEDS[p]], direct=False)
        for p in sorted(NEEDS)
        if unset_groups(p, env)
    ]
    return missing


def _usual_addresses(env: Mapping[str, str]) -> list[str]:
    bases: list[str] = []
    for provider in (*USUAL_BASES, "openai"):
        try:
            base = base_of(provider, None, env)
        except UserError:
            continue  # `open_model` reports a broken variable
        if base is not None and is_local_server(base):
            bases.append(base)
    return list(dict.fromkeys(bases))


async def _listens(base: str) -> bool:
    """Return whether a server accepts connections at this address. Only then is the HTTP client imported (0.1 s)."""
    at = urlsplit(base)
    try:
        port = at.port or (443 if at.scheme == "https" else 80)
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(at.hostname, port)
    except (OSError, ValueError):  # also a time-out, and a port or a name that cannot be
        return False
    writer.close()
    return True


async def _find_server(base: str) -> ServerFound | None:
    if not await _listens(base):
        return None
    try:
        if names := await _ollama_names(base):
            return await _describe_ollama(base, names)
        info = await ask_server(base, seconds=_SECONDS)
    except NoServer:
        return None
    if not info.models:
        return None
    return ServerFound(kind=info.kind, api_base=info.api_base, models=[_line(info, m) for m in info.models])


async def _ollama_names(base: str) -> list[str]:
    if base.endswith("/v1"):
        return []
    try:
        return await list_ollama(base, seconds=_SECONDS)
    except NoServer as e:
        if "answer like" in str(e):
            return []
        raise


async def _describe_ollama(base: str, names: list[str]) -> ServerFound:
    shown = await asyncio.gather(*(show_ollama(base, name) for name in names[:_MOST]), return_exceptions=True)
    windows = {s.name: s.window for s in shown if isinstance(s, Served)}
    lines = [ModelLine(name=f"ollama_chat/{n}", context=windows.get(n), price=FREE) for n in names]
    return ServerFound(kind="ollama", api_base=base, models=lines)


def _line(info: ServerInfo, served: Served) -> ModelLine:
    prefix = {"lm-studio": "lm_studio", "vllm": "hosted_vllm"}.get(info.kind, "openai")
    return ModelLine(name=f"{prefix}/{served.name or 'default'}", context=served.window, price=FREE)


def _listed(provider: str) -> list[ModelLine]:
    """List the provider's chat models that support tools and are not withdrawn, from the table."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines: list[ModelLine] = []
    for key, fields in whole_table().items():
        entry = PriceRow(key, fields)
        withdrawn = str(fields.get("deprecation_date") or "9999") <= today
        if entry.provider != provider or fields.get("mode") != "chat" or not entry.calls_tools or withdrawn:
            continue
        name = key if key.startswith(f"{provider}/") else f"{provider}/{key}"
        price = price_of(entry, local=False, window=entry.window or 0)
        lines.append(ModelLine(name=name, context=entry.window, price=price))
    return sorted(lines, key=lambda line: line.name)
