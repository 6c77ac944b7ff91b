"""The answer of a success predicate."""

from __future__ import annotations

import msgspec


class Verdict(msgspec.Struct, frozen=True):
    """What a predicate says."""

    name: str
    """As on the command line: `until-file out.txt`."""
    passed: bool
    detail: str
    not_guaranteed: list[str] = []
    """What could not be ruled out, for people."""
