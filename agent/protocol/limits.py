"""Limits other than the budget: where the spec stores each one, and how a change is applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from .spec import RunSpec

Part = TypeVar("Part", bound=msgspec.Struct)
LimitValue = float | str | None
"""A limit's value in a command or event: a number, the rate of a tool, or None to remove the limit."""
BUDGET = ("steps", "tokens", "usd", "seconds", "deadline")


@dataclass(frozen=True, slots=True)
class Limit:
    """One changeable limit and its place in the spec."""

    field: str
    parts: tuple[str, ...] = ()
    """Fields of the spec that contain the limit; each is None in a run of another loop. Empty means the spec itself."""
    needs: str = ""
    """A field of the spec; if it is None, the limit has no meaning."""
    of: str = ""
    """Which runs have the limit, for a message."""


_SEARCH = "a search (rundry find)"
_POOL = "a search (rundry find) or a run with --score or --tries"
_SCORE = "a run with --score"
LIMITS: Mapping[str, Limit] = {
    "window": Limit("window", ("stalls",)),
    "tool_error_rate": Limit("tool_error_rate", ("stalls",)),
    "tool_error_calls": Limit("tool_error_calls", ("stalls",)),
    "check_timeout": Limit("timeout", ("predicates",)),
    "command_timeout": Limit("command_timeout"),
    "park": Limit("park"),
    "item_steps": Limit("item_steps", needs="finder", of=_SEARCH),
    "dry_passes": Limit("dry_passes", ("finder",), of=_SEARCH),
    "refuters": Limit("sceptics", ("finder",), of=_SEARCH),
    "retries": Limit("retries", ("finder",), of=_SEARCH),
    "concurrency": Limit(
        "concurrency", ("finder", "improve", "tries"), of=f"{_SEARCH}, or a run with --score or --tries"
    ),
    "pass_steps": Limit("pass_steps", ("interval", "improve", "tries"), of="a run with --every, --score or --tries"),
    "patience": Limit("patience", ("improve",), of=_SCORE),
    "min_delta": Limit("min_delta", ("improve",), of=_SCORE),
    "repeat": Limit("repeat", ("improve",), of=_SCORE),
    "tries": Limit("tries", ("improve",), of=_SCORE),
}
"""Limits by option name. In `SetLimit` and `LimitsChanged` every other name is a tool, with a rate as its value."""


def limit_problem(spec: RunSpec, name: str) -> str | None:
    """Return a message that says which runs have this limit, if this one does not; otherwise None."""
    limit = LIMITS.get(name)
    if limit is None:
        return None
    holders = [limit.needs] if limit.needs else limit.parts
    if name == "tries" and spec.improve is not None and spec.improve.pass_loop is not None:
        return f"each pass of this run is {spec.improve.pass_loop.a_run}, so it has no tries"
    if not holders or any(getattr(spec, holder) is not None for holder in holders):
        return None
    return f"only {limit.of} has the limit {name}"


def with_limits(spec: RunSpec, limits: Mapping[str, LimitValue]) -> RunSpec:
    """Return the spec with changed limits. A limit that the run does not have is ignored."""
    quotas = {name: str(rate) for name, rate in limits.items() if name not in LIMITS and rate is not None}
    kept = {tool: rate for tool, rate in spec.gate.quotas.items() if tool not in limits}
    changes: dict[str, object] = {"gate": msgspec.structs.replace(spec.gate, quotas={**kept, **quotas})}
    changes |= {
        limit.field: _of_type(getattr(spec, limit.field), limits[name])
        for name, limit in LIMITS.items()
        if name in limits and not limit.parts
    }
    for holder in {part for limit in LIMITS.values() for part in limit.parts}:
        part = getattr(spec, holder)
        if part is not None:
            changes[holder] = part_with(part, holder, limits)
    return msgspec.structs.replace(spec, **changes)


def part_with(part: Part, holder: str, limits: Mapping[str, LimitValue]) -> Part:
    """Return one part of a spec (`holder` is its field) with changed limits."""
    changes: dict[str, LimitValue] = {}
    for name, limit in LIMITS.items():
        if name in limits and holder in limit.parts:
            field = _field(part, limit.field)
            changes[field] = _of_type(getattr(part, field), limits[name])
    return msgspec.structs.replace(part, **changes)


def _of_type(before: object, value: LimitValue) -> LimitValue:
    """Convert a number to the type of the old value: commands and events store counts as floats, too."""
    return int(value) if isinstance(before, int) and isinstance(value, float) else value


def _field(part: msgspec.Struct, field: str) -> str:
    """Return the field that stores the limit: a migration has one worker, so its concurrency is `checks`."""
    return "checks" if field == "concurrency" and getattr(part, "check", None) is not None else field
