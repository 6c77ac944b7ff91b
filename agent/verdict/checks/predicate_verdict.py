"""Define the verdict of a success predicate."""

from __future__ import annotations

import msgspec


class PredicateVerdict(msgspec.Struct, frozen=True):
    """The result of one success predicate, with the reason."""

    name: str
    """The predicate as on the command line, such as `until-file out.txt`."""
    passed: bool
    detail: str
    not_guaranteed: list[str] = []
    """Possible manipulations that could not be excluded, as text for people."""
