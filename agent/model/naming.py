"""Find the provider of a model's name. litellm is imported only if the local tables do not list the name."""

from __future__ import annotations

import asyncio

from ..protocol import ModelSpec, UserError
from .demo.provider import PROVIDER as DEMO
from .endpoint import split_name
from .litellm_use.environment import only_variables
from .litellm_use.library import litellm, load_litellm
from .pricing.table import listed_provider, providers_listed
from .traits import TRAITS


async def find_model(spec: ModelSpec) -> tuple[str, str]:
    """Return provider and model. Raises UserError if neither rundry nor litellm knows the name."""
    has_base = spec.api_base is not None
    known = await asyncio.to_thread(providers_listed)
    if found := split_name(spec.name, has_base=has_base, providers={*TRAITS, DEMO, *known}):
        return found
    if (provider := await asyncio.to_thread(listed_provider, spec.name)) in TRAITS:
        return str(provider), spec.name
    if spec.name == DEMO:
        raise UserError("demo is not a model: `rundry demo` starts it in a sample project of its own")
    await load_litellm()
    return _ask_litellm(spec.name)


def is_direct(name: str) -> bool:
    """Return whether the name begins with a provider to which rundry connects without litellm."""
    return split_name(name, has_base=False, providers={*TRAITS, DEMO}) is not None


def _ask_litellm(name: str) -> tuple[str, str]:
    try:
        with only_variables({}):
            model, provider, _, _ = litellm().get_llm_provider(name)
    except Exception as e:  # litellm raises its own errors and plain Exceptions here
        raise UserError(
            f"unknown provider in the model name {name}: write openai/NAME or ollama_chat/NAME, or give --api-base"
        ) from e
    return str(provider), str(model)
