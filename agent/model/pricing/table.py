"""Read prices and context windows from the file of litellm's table, without importing litellm."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from ..litellm_use.library import library_folder
from .listed_names import is_related, names_to_search

SELF_HOSTED = frozenset({"ollama", "ollama_chat", "lm_studio", "hosted_vllm", "llamafile", "lemonade", "xinference"})
"""Providers that are programs, not companies. Their price of zero in the table may be wrong for a hosted server."""

_ENUM_VALUE = re.compile(r'^    [A-Z]\w* = "([^"]+)"', re.MULTILINE)
_FILE = "model_prices_and_context_window_backup.json"


class Entry(msgspec.Struct, frozen=True):
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
        """Most tokens of the prompt; None: unknown."""
        tokens = self.number("max_input_tokens") or self.number("max_tokens")
        return int(tokens) if tokens else None

    @property
    def max_output(self) -> int | None:
        """Most tokens of one answer; None: unknown."""
        tokens = self.number("max_output_tokens")
        return int(tokens) if tokens else None

    @property
    def reasons(self) -> bool:
        """Whether the model may think for minutes before its first token."""
        return bool(self.fields.get("supports_reasoning"))

    @property
    def sees_images(self) -> bool | None:
        """Whether the model accepts images; None: unknown, because many rows omit the field."""
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


def find(provider: str, model: str) -> Entry | None:
    """Return the row for the most exact of the model's names, of this provider or a related one; None: not listed."""
    table, lower = whole_table(), _lower_keys()
    for name in names_to_search(provider, model):
        key = name if name in table else lower.get(name.lower())
        if key is not None and is_related(provider, str(table[key].get("litellm_provider", ""))):
            return Entry(key, table[key])
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
