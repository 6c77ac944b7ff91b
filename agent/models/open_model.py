"""Open a model: find its server, key, context window, price and lane."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

import msgspec

from ..protocol import Model, ModelSpec, Refusal, ServedFacts, UserError
from .ask_servers import NoServer, ServerInfo, ask_server, show_ollama
from .demo.provider import open_demo
from .endpoint import Endpoint, resolve
from .lanes.direct_lane import DirectLane, EitherEndpoint
from .lanes.proxies import proxy_for
from .lanes.timer import StallTimeouts
from .learned import Learned, learned
from .litellm_use.credentials import check_credentials, is_unlisted, refuse_missing_key
from .litellm_use.load_litellm import begin_loading
from .naming import find_model, listed_model
from .no_model import NO_MODEL, NoModel
from .own_server import OwnServer
from .price_table import PriceRow, find_price
from .prices import price_of
from .provider_traits import CUSTOM_SERVER, DEMO, TRAITS, Traits, is_self_hosted, traits_of
from .remote_model import Lane, LitellmChecks, ModelFacts, RemoteModel
from .request_fields import RequestFields
from .server_tokenizer import ask_tokenizer

ASSUMED_WINDOW = 131_072
"""Context window in tokens if neither user nor server nor table gives it (`window_known` is then false)."""
OUTPUT_CAP = 32_768
"""Limit of one answer in tokens if the table has none."""
_FIRST_SLOW = 300.0
"""Seconds until the first piece: a local model reads the prompt first, and a reasoning model may think silently."""


class ModelOpener:
    """Opens the models of a process, with the keys in its environment."""

    async def open(self, spec: ModelSpec) -> Model:
        """Open the model of a spec. Raises Refusal, UserError."""
        if spec.name == NO_MODEL:
            return NoModel()
        return await open_model(spec, os.environ)


async def open_model(spec: ModelSpec, env: Mapping[str, str], *, timeouts: StallTimeouts | None = None) -> RemoteModel:
    """Open the model of the spec. Raises UserError for an unusable name or address.

    `spec.key_from` names the variable with the key. None means the provider's usual one; an empty text means that no
    key may be sent. A server that does not answer is not an error here; `probe` reports it.
    `RUNDRY_STALL_SECONDS` limits how long a stream may send nothing. `RUNDRY_READ_LEAKS` (1 or 0; by default 1 for a
    local server) sets whether tool calls that a model writes into its text are recognised.
    """
    provider, model = await find_model(spec)
    if provider == DEMO:
        return open_demo(spec, model, env)
    at = resolve(spec, provider, model, env)
    entry = await asyncio.to_thread(find_price, provider, model)
    at = msgspec.structs.replace(at, adaptive=bool(entry and entry.fields.get("supports_adaptive_thinking")))
    traits = traits_of(provider, model, at.api_base)
    effort_note = _effort_note(at, entry, traits)
    if effort_note:
        at = msgspec.structs.replace(at, effort=None)
    if traits is CUSTOM_SERVER and entry is not None and entry.reasons:
        traits = msgspec.structs.replace(CUSTOM_SERVER, limit_field=TRAITS["openai"].limit_field)
    proxy_for(at.api_base or (traits.base if traits is not None else None) or "https://", local=at.local)
    at, info = await _ask(at, entry, spec, traits)
    facts = _facts(at, entry, spec, info, learned(at.api_base or at.provider, at.model, env))
    self_hosted = facts.served is not None and facts.served.self_hosted
    sizes = await ask_tokenizer(info, at) if info is not None and self_hosted else None
    waits = timeouts or _timeouts(at, entry, env)
    fields = RequestFields(at, env, needs_limit=traits is not None and traits.wire == "anthropic")
    expects_responses = _expects_responses(entry)
    opened = RemoteModel(
        at,
        _lane(at, traits, fields, facts.window, waits, expects_responses=expects_responses),
        facts,
        name=spec.name,
        timeouts=waits,
        reads_written_calls=reads_written_calls(env, local=self_hosted),
        checks=_checks(spec, at, env) if traits is None or expects_responses else None,
        sizes=sizes,
    )
    if self_hosted:
        opened.own_server = OwnServer(opened.server, at.model, env, facts.served)
    opened.notes += effort_note or fields.remembered_notes()
    if not opened.limits_output:
        opened.notes.append(
            f"{at.api_base or provider} does not accept a limit of the answer: the budget assumes answers of up to "
            f"{opened.max_output:,} tokens"
        )
    opened.load_encoding()
    return opened


def begin_loading_for(spec: ModelSpec, env: Mapping[str, str]) -> None:
    """Start to import litellm in a thread if the calls of this model need it, before the model is opened.

    Blocks for some 50 ms. A model that cannot be used is not an error here; `open_model` and `probe` report it.
    """
    found = listed_model(spec)
    if DEMO in (spec.name, *(found or ())[:1]):
        return
    if found is not None:
        try:
            refuse_missing_key(spec, env)
            at = resolve(spec, *found, env)
        except (Refusal, UserError):
            return
        if traits_of(*found, at.api_base) is not None and not _expects_responses(find_price(*found)):
            return
    begin_loading()


def _expects_responses(entry: PriceRow | None) -> bool:
    """Return whether, by the table, OpenAI offers the model only in its Responses API."""
    return entry is not None and entry.fields.get("mode") == "responses"


def reads_written_calls(env: Mapping[str, str], *, local: bool) -> bool:
    """Return whether to recognise tool calls in the text: the user's setting, else only for a local server."""
    return (env.get("RUNDRY_READ_LEAKS") or ("1" if local else "0")) == "1"


def _checks(spec: ModelSpec, at: Endpoint, env: Mapping[str, str]) -> LitellmChecks:
    return LitellmChecks(
        partial(check_credentials, spec, at.provider, env),
        partial(_refuse_without_chat, at) if is_unlisted(at.provider) else None,
    )


async def _refuse_without_chat(at: Endpoint) -> None:
    from .lanes.via_litellm.litellm_lane import LitellmLane

    await LitellmLane(at, RequestFields(at, None), seconds=_FIRST_SLOW).refuse_without_chat()


def _effort_note(at: Endpoint, entry: PriceRow | None, traits: Traits | None) -> list[str]:
    """Return why the requested effort is ignored; empty if the model accepts it or if that is unknown."""
    if at.effort is None:
        return []
    if traits is not None and traits.effort == "none":
        return [f"{at.provider} does not have an effort setting: --effort {at.effort} is ignored"]
    if entry is not None and entry.calls_tools and not entry.reasons:
        return [f"{at.name} does not reason: --effort {at.effort} is ignored"]
    return []


def _lane(
    at: Endpoint,
    traits: Traits | None,
    fields: RequestFields,
    window: int,
    timeouts: StallTimeouts,
    *,
    expects_responses: bool,
) -> Lane:
    """Return the lane to the model. `expects_responses`: by the table, OpenAI offers it only in its Responses API."""
    direct = None if traits is None else DirectLane(at, traits, fields, window=window)
    if direct is not None and at.provider != "openai":
        return direct
    from .lanes.via_litellm.litellm_lane import LitellmLane

    if direct is None or expects_responses:
        _bypass_proxy(at)
    seconds = timeouts.first + timeouts.between
    responses = LitellmLane(at, fields, seconds=seconds, uses_responses=True)
    if at.model.startswith("responses/"):
        return responses
    chat = direct or LitellmLane(at, fields, seconds=seconds)
    return EitherEndpoint(chat, responses, fields, expects_responses=expects_responses)


def _facts(
    at: Endpoint, entry: PriceRow | None, spec: ModelSpec, info: ServerInfo | None, remembered: Learned
) -> ModelFacts:
    served = info.model(at.model) if info is not None else None
    self_hosted = at.local and is_self_hosted(at.provider)
    window = spec.context or (served.window if served else None) or (entry.window if entry else None)
    known, window = window is not None, window or ASSUMED_WINDOW
    marks = at.wants_cache_marks
    listed = entry.max_output if entry is not None else None
    sees = served.sees_images if served is not None else None
    if sees is None and entry is not None:
        sees = entry.sees_images
    said = ServedFacts(self_hosted=self_hosted) if info is None else info.facts(at.model, self_hosted=self_hosted)
    return ModelFacts(
        window=window,
        window_known=known,
        max_output=min(spec.max_output or listed or OUTPUT_CAP, window),
        listed_output=None if listed is None else min(listed, window),
        price=price_of(entry, local=at.local, window=window, user=spec.price, marks_cache=marks),
        sees_images=sees,
        served=msgspec.structs.replace(
            said,
            edit_format=remembered.edit_format,
            read_speed=remembered.read_speed,
            write_speed=remembered.write_speed,
        ),
    )


async def _ask(
    at: Endpoint, entry: PriceRow | None, spec: ModelSpec, traits: Traits | None
) -> tuple[Endpoint, ServerInfo | None]:
    """Ask the server about the model. Return the endpoint with a missing `/v1` added, or None if it was not asked."""
    if at.api_base is None or (not at.local and (entry is not None or spec.context)):
        return at, None
    try:
        if at.provider == "ollama_chat":
            shown = await show_ollama(at.api_base, at.model, local=at.local)
            return at, ServerInfo(kind="ollama", api_base=at.api_base, models=[] if shown is None else [shown])
        if traits is None or traits.wire != "chat":
            return at, None
        info = await ask_server(at.api_base, key=at.key, headers=at.headers, local=at.local)
    except NoServer:
        return at, None  # `probe` reports it
    return msgspec.structs.replace(
        at, api_base=info.api_base, reports_reading=info.kind == "llama.cpp", reports_usage=info.kind == "vllm"
    ), info


def _bypass_proxy(at: Endpoint) -> None:
    """Exclude a server on this machine or network from the environment's proxy, for litellm's HTTP client."""
    host = urlsplit(at.api_base or "").hostname
    if not at.local or host is None:
        return
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [h for h in os.environ.get(name, "").split(",") if h]
        if host not in hosts:
            os.environ[name] = ",".join([*hosts, host])


def _timeouts(at: Endpoint, entry: PriceRow | None, env: Mapping[str, str]) -> StallTimeouts:
    try:
        between = float(env.get("RUNDRY_STALL_SECONDS") or 60.0)
    except ValueError as e:
        raise UserError(
            f"RUNDRY_STALL_SECONDS is not a number: {env.get('RUNDRY_STALL_SECONDS')}. Set it to seconds, such as 60"
        ) from e
    slow = at.local or at.effort is not None or (entry is not None and entry.reasons)
    return StallTimeouts(first=_FIRST_SLOW if slow and "RUNDRY_STALL_SECONDS" not in env else between, between=between)
