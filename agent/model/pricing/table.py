"""litellm's price table, read from its file: what a model costs and holds, without importing litellm."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from ..litellm_use.library import library_folder
from .listed_names import is_related, names_of

SELF_HOSTED = frozenset({"ollama", "ollama_chat", "lm_studio", "hosted_vllm", "llamafile", "lemonade", "xinference"})
"""Providers that are programs, not companies: a zero in the table says nothing about who runs the server."""

_FILE = "model_prices_and_context_window_backup.json"


class Entry(msgspec.Struct, frozen=True):
    """One model of the table."""

    key: str
    fields: dict[str, Any]

    @property
    def provider(self) -> str:
        """Whose table row it is; `bedrock_converse` and the like are litellm's own names."""
        return str(self.fields.get("litellm_provider", ""))

    def number(self, name: str) -> float | None:
        """A field that is a number; None where it is missing or prose."""
        value = self.fields.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def window(self) -> int | None:
        """Tokens of the prompt, where the table knows them."""
        tokens = self.number("max_input_tokens") or self.number("max_tokens")
        return int(tokens) if tokens else None

    @property
    def max_output(self) -> int | None:
        """Most tokens in one answer."""
        tokens = self.number("max_output_tokens")
        return int(tokens) if tokens else None

    @property
    def reasons(self) -> bool:
        """It may think for minutes before its first token."""
        return bool(self.fields.get("supports_reasoning"))

    @property
    def sees_images(self) -> bool | None:
        """It accepts images. None: the row does not say; rows of many models that do have no such field."""
        said = self.fields.get("supports_vision")
        return said if isinstance(said, bool) else None

    @property
    def calls_tools(self) -> bool:
        """Return whether the model accepts `tools`."""
        return bool(self.fields.get("supports_function_calling"))


@cache
def whole_table() -> dict[str, dict[str, Any]]:
    """Every model. Reading it takes about 30 ms, once."""
    raw = (library_folder() / _FILE).read_bytes()
    table = msgspec.json.decode(raw, type=dict[str, dict[str, Any]])
    table.pop("sample_spec", None)
    return table


def find(provider: str, model: str) -> Entry | None:
    """The model's entry: under the most exact of its names that is a row of this provider or of a related one."""
    table, lower = whole_table(), _lower_keys()
    for name in names_of(provider, model):
        key = name if name in table else lower.get(name.lower())
        if key is not None and is_related(provider, str(table[key].get("litellm_provider", ""))):
            return Entry(key, table[key])
    return None


@cache
def _lower_keys() -> dict[str, str]:
    """The keys by their lower case."""
    return {key.lower(): key for key in whole_table()}


def listed_provider(model: str) -> str | None:
    """The provider of a model that the table lists under its bare name; None: the table has no such row."""
    return str(whole_table().get(model, {}).get("litellm_provider", "")) or None


@cache
def providers_listed() -> frozenset[str]:
    """Every provider that litellm has a page of: read from a file next to the table."""
    raw = (library_folder() / "provider_endpoints_support_backup.json").read_bytes()
    return frozenset(msgspec.json.decode(raw).get("providers", {}))
