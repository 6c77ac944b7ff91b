"""Events with their position in the journal, and their encoding."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from ..text.visible_json import visible_json
from .answers import AnswersEvent
from .check import CheckEvent
from .children import ChildrenEvent
from .confirm import ConfirmEvent
from .finder_events import FinderEvent
from .judged import JudgeEvent
from .layers import LayersEvent
from .pass_events import PassesEvent
from .person import PersonEvent
from .run_events import RunEvent
from .step import StepEvent
from .tries import TriesEvent
from .waits import WaitsEvent
from .wheel import WheelEvent
from .worktrees import WorktreesEvent

KnownEvent = (
    AnswersEvent
    | CheckEvent
    | ChildrenEvent
    | ConfirmEvent
    | FinderEvent
    | JudgeEvent
    | PassesEvent
    | PersonEvent
    | RunEvent
    | StepEvent
    | TriesEvent
    | WaitsEvent
    | WheelEvent
    | WorktreesEvent
    | LayersEvent
)
"""All events that this version knows, as one closed union."""


class Unknown(msgspec.Struct, frozen=True):
    """An event that this version does not know. It is shown as a line and is never an error."""

    type: str
    raw: bytes


Event = KnownEvent | Unknown


class Stamped(msgspec.Struct, frozen=True):
    """An event with its position in the journal."""

    seq: int
    at: float
    """Time of the event in Unix seconds."""
    step: int | None
    work: str | None
    event: Event


_kinds: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownEvent)}
_names: dict[type[Any], str] = {kind: name for name, kind in _kinds.items()}
_without_envelope_fields = {kind for kind in _names if not {"seq", "at", "step", "work"} & set(kind.__struct_fields__)}
"""Events without fields that are named like envelope fields: their line is joined from two texts, ten times as fast."""


_decoders: dict[str, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: str) -> msgspec.json.Decoder[Any] | None:
    """Return the decoder of an event type, or None if it is unknown. Created on first use: all take 30 ms."""
    if kind not in _kinds:
        return None
    return _decoders.setdefault(kind, msgspec.json.Decoder(_kinds[kind]))


_encoder = msgspec.json.Encoder()


def event_type(event: Event) -> str:
    """Return the event's name on the wire, such as `run_started`."""
    return event.type if isinstance(event, Unknown) else _names[type(event)]


def event_name(kind: type[Event]) -> str:
    """Return the name on the wire for an event class; `Unknown` has none."""
    return _names[kind]


def encode_event(event: Event) -> bytes:
    """Encode an event as a JSON object whose `type` is the event's name."""
    return event.raw if isinstance(event, Unknown) else _encoder.encode(event)


def decode_event(kind: str, raw: bytes) -> Event:
    """Decode an event. Returns `Unknown` for a type or format of a newer version."""
    decoder = _decoders.get(kind) or _decoder(kind)
    if decoder is None:
        return Unknown(kind, raw)
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        return Unknown(kind, raw)


def to_json_line(stamped: Stamped) -> bytes:
    """Return one line of `--json` output (docs/requirements.md 13.1) without the line end. It is safe to print."""
    return visible_json(_json_line(stamped))


def _json_line(stamped: Stamped) -> bytes:
    head: dict[str, Any] = {"seq": stamped.seq, "at": stamped.at, "step": stamped.step, "work": stamped.work}
    body = encode_event(stamped.event)
    if type(stamped.event) in _without_envelope_fields:
        return _encoder.encode(head)[:-1] + b"," + body[1:]
    return _encoder.encode({**head, **msgspec.json.decode(body)})
