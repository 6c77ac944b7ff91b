"""Under which names litellm's table may list a model: without its route, its region, its version or its date."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ROUTES: dict[str, tuple[str, ...]] = {
    "azure": ("responses/",),
    "bedrock": ("converse/", "converse_like/", "invoke/", "openai/"),
    "openai": ("responses/",),
}
"""The way to a model, which its price does not depend on."""
_REGIONS = re.compile(r"(global|us-gov|us|eu|apac|jp|au)\.|[a-z]{2}(-gov|-iso[a-z]?)?-[a-z]+-\d/")
"""Regions of AWS before a name; a region with a price of its own is listed with it."""
_THROUGHPUT = re.compile(r"(?<=:\d):\d+k$|\[\w+\]$")
"""`:51k` behind a version of Bedrock, `[1m]` for a window."""
_VERSION = re.compile(r"-\d+$")
"""`-001` behind a stable model of Google's."""
_DATED = frozenset({"databricks", "gemini", "vertex_ai"})
_FINE_TUNED = re.compile(r"^(ft:[^:]+):.*$")

_RELATED: dict[str, frozenset[str]] = {
    "azure_ai": frozenset({"azure", "openai"}),
    "cohere": frozenset({"cohere_chat"}),
    "cohere_chat": frozenset({"cohere"}),
}
"""Providers whose rows hold for a provider too."""
_FAMILIES = ("bedrock", "fireworks_ai", "vertex_ai")
"""They have rows under names that begin with theirs: `bedrock_converse`, `vertex_ai-anthropic_models`."""


def names_of(provider: str, model: str) -> Iterator[str]:
    """The names to look for, the most exact one first."""
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
    if provider == "bedrock" and ":" not in base:  # Bedrock takes most names without their version too
        yield f"{bare}:0"
        yield f"{base}:0"


def is_related(provider: str, listed: str) -> bool:
    """A row of the provider `listed` holds for a model of `provider`."""
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
