"""Check before a run whether its model can be reached, and report the reason in one line if not."""

from __future__ import annotations

from ..protocol import Refusal, Unreachable
from .endpoint import NO_KEY, Endpoint
from .lanes.anthropic_request import anthropic_headers
from .lanes.connections import with_headers
from .litellm_use.credentials import missing_key
from .servers import NoServer, ask, ask_server, list_ollama
from .traits import traits_of

_SECONDS = 5.0


async def check_reachable(at: Endpoint, name: str) -> None:
    """Raise Refusal if the model cannot be used. A slow server counts as reachable, because it may be busy."""
    if at.provider == "demo":
        return
    if at.lacks_key:
        raise Refusal(missing_key(at))
    try:
        if at.provider == "ollama_chat" and at.api_base is not None:
            await _check_ollama(at, name)
        elif at.api_base is not None:
            await ask_server(at.api_base, key=at.key, seconds=_SECONDS, local=at.local)
        elif (traits := traits_of(at.provider, at.model, None)) is not None and traits.knows_models:
            await _check_official(at, traits.base or "")
    except NoServer as e:
        place = at.api_base or at.provider
        if e.fix:
            raise Unreachable(f"no connection to {place}: {e}. {e.fix}") from e
        raise Unreachable(f"no model server at {place} ({e}): start it, or give another --api-base") from e


async def _check_ollama(at: Endpoint, name: str) -> None:
    assert at.api_base is not None
    names = await list_ollama(at.api_base, seconds=_SECONDS, local=at.local)
    wanted = at.model if ":" in at.model else f"{at.model}:latest"
    if wanted not in names and at.model not in names:
        has = ", ".join(names[:8]) or "none"
        raise Refusal(f"Ollama has no model {at.model} (it has: {has}): `ollama pull {at.model}`, or another --model")


async def _check_official(at: Endpoint, base: str) -> None:
    bearer = {"Authorization": f"Bearer {at.key or NO_KEY}"}
    headers, path = with_headers(bearer, at.headers), f"{base}/models/{at.model}"
    if at.provider == "anthropic":
        headers, path = anthropic_headers(at), f"{base}/v1/models/{at.model}"
    answer = await ask("GET", path, seconds=_SECONDS, headers=headers, local=at.local)
    if answer is None:
        return
    if answer.status in (401, 403):
        raise Refusal(f"{at.provider} refuses the key in {' or '.join(at.key_names)}: check it")
    if answer.status == 404:
        raise Refusal(f"{at.provider} has no model {at.model}: `rundry models` lists what is reachable")
