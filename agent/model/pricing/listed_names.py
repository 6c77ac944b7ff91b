"""List the names under which litellm's table may have a model: without its route, region, version or date."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ROUTES: dict[str, tuple[str, ...]] = {
    "azure": ("responses/",),
    "bedrock": ("converse/", "converse_like/", "invoke/", "openai/"),
    "openai": ("responses/",),
}
"""Prefixes that select an API of the provider. They do not affect the price."""
_REGIONS = re.compile(r"(global|us-gov|us|eu|apac|jp|au)\.|[a-z]{2}(-gov|-iso[a-z]?)?-[a-z]+-\d/")
"""AWS regions before a name. The table lists a region that has its own price."""
_THROUGHPUT = re.compile(r"(?<=:\d):\d+k$|\[\w+\]$")
"""Suffixes: `:51k` after a Bedrock version, `[1m]` for the context window."""
_VERSION = re.compile(r"-\d+$")
"""Suffix `-001` of a stable Google model."""
_DATED = frozenset({"databricks", "gemini", "vertex_ai"})
_FINE_TUNED = re.compile(r"^(ft:[^:]+):.*$")

_RELATED: dict[str, frozenset[str]] = {
    "azure_ai": frozenset({"azure", "openai"}),
    "cohere": frozenset({"cohere_chat"}),
    "cohere_chat": frozenset({"cohere"}),
}
"""For each provider, other providers whose rows apply to its models."""
_FAMILIES = ("bedrock", "fireworks_ai", "vertex_ai")
"""Providers whose name is the prefix of several others in the table, such as `vertex_ai-anthropic_models`."""


def names_to_search(provider: str, model: str) -> Iterator[str]:
    """Yield the names to search for, the most exact one first."""
    yield f"{provider}/{model}"
    yield model
    bare = _without_route(provider, model)
    base = _base(provider, bare)
    for name in (bare, base):
        if name != model:
            yield f"{provider}/{name}"
            yield name
    if provider == "vertex_ai" and "@" not in base:
        yield f"{provider}/{base}@latest"
    if provider == "bedrock" and ":" not in base:  # Bedrock also accepts most names without their version
        yield f"{bare}:0"
        yield f"{base}:0"


def is_related(provider: str, listed: str) -> bool:
    """Return whether a row of the provider `listed` applies to a model of `provider`."""
    if not listed or listed == provider or provider == "github" or listed in _RELATED.get(provider, ()):
        return True
    return provider in _FAMILIES and listed.startswith(provider)


def _without_route(provider: str, model: str) -> str:
    for route in _ROUTES.get(provider, ()):
        model = model.removeprefix(route)
    return model


def _base(provider: str, model: str) -> str:
    if provider == "bedrock":
        if ":bedrock:" in model:  # an ARN
            model = model.rpartition("/")[2]
        region = _REGIONS.match(model)
        return _THROUGHPUT.sub("", model[region.end() :] if region else model)
    if provider in _DATED:
        return _VERSION.sub("", model)
    return _FINE_TUNED.sub(r"\1", model)
