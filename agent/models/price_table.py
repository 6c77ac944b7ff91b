"""Read prices and context windows from the file of litellm's table, without importing litellm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from .litellm_use.load_litellm import library_folder

SELF_HOSTED = frozenset({"ollama", "ollama_chat", "lm_studio", "hosted_vllm", "llamafile", "lemonade", "xinference"})
"""Providers that are programs, not companies. Their price of zero in the table may be wrong for a hosted server."""

_ENUM_VALUE = re.compile(r'^    [A-Z]\w* = "([^"]+)"', re.MULTILINE)
_FILE = "model_prices_and_context_window_backup.json"

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


class PriceRow(msgspec.Struct, frozen=True):
    """One model of the table."""

    key: str
    fields: dict[str, Any]

    @property
    def provider(self) -> str:
        """Provider of the row in litellm's spelling, such as `bedrock_converse`."""
        return str(self.fields.get("litellm_provider", ""))

    def number(self, name: str) -> float | None:
        """Return the field's number; None if the field is missing or a text."""
        value = self.fields.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def window(self) -> int | None:
        """Most tokens of the prompt, or None if unknown."""
        tokens = self.number("max_input_tokens") or self.number("max_tokens")
        return int(tokens) if tokens else None

    @property
    def max_output(self) -> int | None:
        """Most tokens of one answer, or None if unknown."""
        tokens = self.number("max_output_tokens")
        return int(tokens) if tokens else None

    @property
    def reasons(self) -> bool:
        """Whether the model may think for minutes before its first token."""
        return bool(self.fields.get("supports_reasoning"))

    @property
    def sees_images(self) -> bool | None:
        """Whether the model accepts images, or None if unknown, because many rows omit the field."""
        value = self.fields.get("supports_vision")
        return value if isinstance(value, bool) else None

    @property
    def calls_tools(self) -> bool:
        """Whether the model accepts `tools`."""
        return bool(self.fields.get("supports_function_calling"))


@cache
def whole_table() -> dict[str, dict[str, Any]]:
    """Return the rows of all models by name. Reading the file takes about 30 ms, once."""
    raw = (library_folder() / _FILE).read_bytes()
    table = msgspec.json.decode(raw, type=dict[str, dict[str, Any]])
    table.pop("sample_spec", None)
    return table


def find_price(provider: str, model: str) -> PriceRow | None:
    """Return the row for the most exact of the model's names, of this provider or a related one.

    Returns None if it is not listed.
    """
    table, lower = whole_table(), _lower_keys()
    for name in _names_to_search(provider, model):
        key = name if name in table else lower.get(name.lower())
        if key is not None and _is_related(provider, str(table[key].get("litellm_provider", ""))):
            return PriceRow(key, table[key])
    return None


@cache
def _lower_keys() -> dict[str, str]:
    """Map each key in lower case to the key."""
    return {key.lower(): key for key in whole_table()}


def listed_provider(model: str) -> str | None:
    """Return the provider of a model that the table lists without a prefix; None if it does not."""
    return str(whole_table().get(model, {}).get("litellm_provider", "")) or None


@cache
def providers_listed() -> frozenset[str]:
    """Return every provider's name with which litellm lets a model's name begin, from its files (15 ms, once)."""
    folder = library_folder()
    endpoints = msgspec.json.decode((folder / "provider_endpoints_support_backup.json").read_bytes())
    like_openai = msgspec.json.decode((folder / "llms" / "openai_like" / "providers.json").read_bytes())
    types = (folder / "types" / "utils.py").read_text(encoding="utf-8")
    names = types.partition("class LlmProviders(str, Enum):")[2].partition("\nclass ")[0].partition("\n\n\n")[0]
    return frozenset({*endpoints.get("providers", {}), *like_openai, *_ENUM_VALUE.findall(names)})


def _names_to_search(provider: str, model: str) -> Iterator[str]:
    """Yield the names under which the table may have the model: without its route, region, version or date.

    The most exact one comes first.
    """
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


def _is_related(provider: str, listed: str) -> bool:
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
