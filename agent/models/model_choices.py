"""List the models that can be chosen now: first those of local servers, then those of providers with a key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..host.toml_tables import read_table
from ..protocol import ModelSpec, Price
from .endpoint import is_local_server

if TYPE_CHECKING:
    from .found_models import KeyFound, ModelLine, Survey

_SUGGESTED = Path(__file__).with_name("suggested.toml")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One model that can be chosen."""

    model: ModelSpec
    source: str
    """Its provider, or the kind of its server."""
    address: str = ""
    """The server's address; empty for a provider."""
    context: int | None = None
    """Context window in tokens, or None if unknown."""
    price: Price | None = None
    """None means unknown."""
    is_local: bool = False
    """Whether the server runs on this machine."""
    is_suggested: bool = False
    """Whether the first screen offers it, which has room for only a few."""


def candidates(survey: Survey) -> list[Candidate]:
    """Return every model of the survey, the suggested ones first."""
    found = [
        Candidate(
            model=ModelSpec(name=line.name, api_base=server.api_base, key_from=_key_from(server.api_base)),
            source=server.kind,
            address=server.api_base,
            context=line.context,
            price=line.price,
            is_local=is_local_server(server.api_base),
            is_suggested=True,
        )
        for server in survey.servers
        for line in server.models
    ]
    found += [candidate for key in survey.keys for candidate in _of_provider(key)]
    return sorted(found, key=lambda candidate: not candidate.is_suggested)


def _key_from(api_base: str) -> str | None:
    """Return the empty text, which sends no key, for a public server: the user did not name a provider for it."""
    return None if is_local_server(api_base) else ""


def _of_provider(key: KeyFound) -> Iterator[Candidate]:
    names = {line.name: line for line in key.models}
    wanted = [f"{key.provider}/{name}" for name in _suggested().get(key.provider, [])]
    first = [names[name] for name in wanted if name in names] or key.models[:1]
    for line in (*first, *(line for line in names.values() if line not in first)):
        yield _remote(key.provider, line, is_suggested=line in first)


def _remote(provider: str, line: ModelLine, *, is_suggested: bool) -> Candidate:
    return Candidate(
        model=ModelSpec(name=line.name),
        source=provider,
        context=line.context,
        price=line.price,
        is_suggested=is_suggested,
    )


@cache
def _suggested() -> dict[str, list[str]]:
    return read_table(_SUGGESTED, dict[str, list[str]])
