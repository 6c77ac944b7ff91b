"""The usable models that `discovery.py` finds: keys that are set, and model servers that answered."""

from __future__ import annotations

import msgspec

from ..protocol import Price, ServerKind


class ModelLine(msgspec.Struct, frozen=True, kw_only=True):
    """One usable model, with its context window and price."""

    name: str
    """Name as `--model` takes it."""
    context: int | None = None
    """Context window in tokens."""
    price: Price | None = None
    """None means that the price is unknown."""


class KeyFound(msgspec.Struct, frozen=True, kw_only=True):
    """A provider whose key is set. This object does not include the key."""

    provider: str
    variable: str
    models: list[ModelLine] = []


class KeyMissing(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that needs a variable that is not set."""

    provider: str
    needs: list[list[str]]
    """Groups of variables; one variable of each group must be set."""
    direct: bool
    """rundry connects to it directly; other providers go through litellm."""


class ServerFound(msgspec.Struct, frozen=True, kw_only=True):
    """A model server that answered."""

    kind: ServerKind
    api_base: str
    """Address as `--api-base` takes it; not needed for a server on its usual port."""
    models: list[ModelLine] = []


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found, and where rundry looked."""

    keys: list[KeyFound] = []
    servers: list[ServerFound] = []
    variables_asked: list[str] = []
    addresses_asked: list[str] = []
    missing: list[KeyMissing] = []
    """Providers that could be used with a key."""

    def suggest(self) -> ModelLine | None:
        """Return the model to use if none is configured: the first one of a local server, else None."""
        return next((m for s in self.servers for m in s.models), None)
