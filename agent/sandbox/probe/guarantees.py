"""The guarantees of a sandbox, and the lines that describe a missing one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from ...host.toml_tables import read_table

_FILE = Path(__file__).with_name("guarantees.toml")

Verdict = Literal["held", "open", "untried"]
"""Result of an attack. `open`: it succeeded."""


class _Guarantee(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    line: str
    short: str
    when: Literal["", "offline", "denied"] = ""


class NotHeld(msgspec.Struct, frozen=True):
    """A guarantee that the sandbox does not give here."""

    name: str
    line: str
    """What a command can do because the guarantee is missing."""
    short: str
    """The same in at most five words."""


def names() -> list[str]:
    """Return the names of all guarantees."""
    return list(_table())


def not_held(verdicts: Mapping[str, Verdict], *, offline: bool, denied: bool) -> list[NotHeld]:
    """Return the missing guarantees; one without a verdict counts as missing.

    `offline`: whether commands must not use the network. `denied`: whether a rule denies a path.
    """
    conditions = {"": True, "offline": offline, "denied": denied}
    found = list[NotHeld]()
    for name, guarantee in _table().items():
        verdict = verdicts.get(name, "untried")
        if verdict == "held" or not conditions[guarantee.when]:
            continue
        found.append(NotHeld(name, _line(guarantee, verdict), guarantee.short))
    return found


def short_list(missing: Iterable[NotHeld]) -> str:
    """Return a short list of the missing guarantees."""
    return ", ".join(one.short for one in missing)


def _line(guarantee: _Guarantee, verdict: Verdict) -> str:
    return guarantee.line if verdict == "open" else f"{guarantee.line} (not tested, so it counts as not held)"


@cache
def _table() -> dict[str, _Guarantee]:
    return read_table(_FILE, dict[str, _Guarantee])
