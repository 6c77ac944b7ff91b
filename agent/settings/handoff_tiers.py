"""Parse who can take over a run: the options `[[handoff.tier]]` and `escalate` of a config file."""

from __future__ import annotations

from typing import cast

from ..protocol import HandoffTier, ModelSpec, TierKind, UserError
from .option_values import check_amount, parse_duration, parse_price
from .value_schema import ADDRESS, COMMAND, DURATION_OR_NONE, LINE, Node, listed, table, takes

PERSON_SECONDS = 600.0
"""Default number of seconds in which a person can respond."""
_FIELDS: dict[TierKind, tuple[str, ...]] = {"person": (), "model": ("name", "api_base", "price"), "command": ("run",)}
_FIX = 'write kind = "person", "model" (with name) or "command" (with run), each with after = "10m"'


_MODEL: dict[str, Node] = {
    "name": {**LINE, "description": "The model."},
    "api_base": {**ADDRESS, "description": "The address of its server."},
    "price": {"type": "string", "pattern": "^[^/]+/[^/]+$", "description": "USD per million tokens, input and output."},
}
_TIER = {
    "anyOf": [
        table(
            {"kind": {"const": kind}, "after": {"anyOf": [{"type": "number", "minimum": 0}, DURATION_OR_NONE]}, **own},
            "kind",
            *needed,
        )
        for kind, own, needed in (
            ("person", {}, ()),
            ("model", _MODEL, ("name",)),
            ("command", {"run": {**COMMAND, "description": "The command line."}}, ("run",)),
        )
    ]
}


@takes({"anyOf": [LINE, table(_MODEL, "name")]})
def read_model(value: object, now: float) -> ModelSpec:
    """Parse a model: a name, or a table with name, api_base and price."""
    del now
    if isinstance(value, str):
        return ModelSpec(name=_line(value))
    if not isinstance(value, dict):
        raise UserError(f"{value!r} is not a model: write its name")
    fields = cast("dict[str, object]", value)
    _refuse_unknown(fields, _FIELDS["model"])
    return _model(fields)


@takes(listed(_TIER))
def read_tiers(value: object, now: float) -> list[HandoffTier]:
    """Parse the rows of `[[handoff.tier]]`, in order."""
    del now
    rows = cast("list[object]", value) if isinstance(value, list) else [value]
    return [_tier(row) for row in rows]


def same_server_model(name: str, model: ModelSpec) -> ModelSpec:
    """Return the named model, on the server of the run's model if the name has the same provider or none."""
    provider, slash, _ = name.partition("/")
    if slash and provider != model.name.partition("/")[0]:
        return ModelSpec(name=name)
    return ModelSpec(name=name, api_base=model.api_base, key_from=model.key_from, headers=model.headers)


def _tier(row: object) -> HandoffTier:
    if not isinstance(row, dict):
        raise UserError(f"{row!r} is not a tier: {_FIX}")
    fields = cast("dict[str, object]", row)
    given = fields.get("kind")
    kind: TierKind | None = next((kind for kind in _FIELDS if kind == given), None)
    if kind is None:
        raise UserError(f"{given!r} is not a kind of tier: {_FIX}")
    _refuse_unknown(fields, ("kind", "after", *_FIELDS[kind]))
    after = _seconds(fields["after"]) if "after" in fields else PERSON_SECONDS if kind == "person" else None
    if kind == "model":
        return HandoffTier(kind=kind, after=after, model=_model(fields))
    if kind == "command":
        run = fields.get("run")
        if not isinstance(run, str) or not run.strip() or "\0" in run:
            raise UserError('a command tier needs a command: run = "mail -s rundry me@example.org"')
        return HandoffTier(kind=kind, after=after, run=run)
    return HandoffTier(kind=kind, after=after)


def _model(fields: dict[str, object]) -> ModelSpec:
    name = fields.get("name")
    if not isinstance(name, str):
        raise UserError('a model needs a name: name = "anthropic/NAME"')
    base, price = fields.get("api_base"), fields.get("price")
    if base is not None and not (isinstance(base, str) and base.startswith(("http://", "https://"))):
        raise UserError(f"{base!r} is not a server address: write it like http://127.0.0.1:8080/v1")
    if price is not None and not isinstance(price, str):
        raise UserError(f"{price!r} is not a price: write it in quotes, IN/OUT in USD per million tokens")
    return ModelSpec(name=_line(name), api_base=base, price=parse_price(price) if price is not None else None)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserError(f"after = {value!r} is not a duration: write 30s, 10m, 1h30m or none")
    return parse_duration(value) if isinstance(value, str) else check_amount(value)


def _line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise UserError(f"{text!r} is not a name: write it in one line")
    return text.strip()


def _refuse_unknown(fields: dict[str, object], known: tuple[str, ...]) -> None:
    wrong = [name for name in fields if name not in known]
    if wrong:
        raise UserError(f"unknown field {wrong[0]!r}: use {', '.join(known)}")
