"""Find the provider of a model's name. litellm is imported only if the local tables do not list the name."""

from __future__ import annotations

import asyncio

from ..protocol import ModelSpec, UserError
from .endpoint import split_name
from .litellm_use.load_litellm import litellm, load_litellm
from .litellm_use.provider_environment import only_variables
from .price_table import listed_provider, providers_listed
from .provider_traits import DEMO, TRAITS


async def find_model(spec: ModelSpec) -> tuple[str, str]:
    """Return provider and model. Raises UserError if neither rundry nor litellm knows the name."""
    if found := await asyncio.to_thread(listed_model, spec):
        return found
    if spec.name == DEMO:
        raise UserError("demo is not a model: `rundry demo` starts it in a sample project of its own")
    await load_litellm()
    return _ask_litellm(spec.name)


def listed_model(spec: ModelSpec) -> tuple[str, str] | None:
    """Return provider and model by the local tables.

    Returns None if only litellm may know the name. Blocks for some 50 ms.
    """
    has_base = spec.api_base is not None
    if found := split_name(spec.name, has_base=has_base, providers={*TRAITS, DEMO, *providers_listed()}):
        return found
    provider = listed_provider(spec.name)
    return (provider, spec.name) if provider in TRAITS else None


def _ask_litellm(name: str) -> tuple[str, str]:
    try:
        with only_variables({}):
            model, provider, _, _ = litellm().get_llm_provider(name)
    except Exception as e:  # litellm raises its own errors and plain Exceptions here
        raise UserError(
            f"unknown provider in the model name {name}: write openai/NAME or ollama_chat/NAME, or give --api-base"
        ) from e
    return str(provider), str(model)
