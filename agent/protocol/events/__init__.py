"""All events of a run, as one closed union, with their encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from ..text.visible_json import visible_json
from .base import EventBase
from .confirm import (
    ConfirmationFinished,
    ConfirmationStarted,
    DependenciesFound,
    DependenciesRecorded,
    DependencyFolder,
    RunVerified,
)
from .finder import (
    CriticSpoke,
    EvidenceAdded,
    FindingJudged,
    FindingReopened,
    FindingReported,
    ItemDuplicate,
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    LensAdded,
    LensBriefed,
    ReadsPlaced,
    ScopeCounted,
    VoteCast,
    WorkFinished,
    WorkStarted,
)
from .person import (
    CommandRefused,
    CommandTaken,
    ConversationCut,
    Interrupted,
    PlanChanged,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    Queued,
    Said,
    Undone,
    Unqueued,
)
from .run import (
    BudgetChanged,
    GateModeChanged,
    HandoffClosed,
    HandoffOpened,
    LimitsChanged,
    ModelQuoted,
    ModelSwitched,
    PassFinished,
    PassStarted,
    PatchKept,
    Paused,
    RuleAdded,
    RunEnded,
    RunResumed,
    RunStarted,
    Sleeping,
    TierAsked,
    TierPassed,
    Unpaused,
    Waiting,
    Woken,
)
from .step import (
    CallAdmitted,
    ChangeCommitted,
    Charged,
    CheckAccepted,
    CheckFinished,
    CheckStarted,
    ContextTrimmed,
    Fault,
    FileChanged,
    GuardApproved,
    GuardSealed,
    HoldReleased,
    ImagesRefused,
    PredicateJudged,
    Prompted,
    PromptShortened,
    ReasoningArrived,
    ReasoningKept,
    ReplyFinished,
    ScoreMeasured,
    ScoreNotMeasured,
    Snapshotted,
    StallDetected,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)
from .tries import TryChosen, TryFinished, TryMeasured, TryStarted, candidate_of, is_try, try_name
from .wheel import (
    BackgroundEnded,
    BackgroundSaid,
    BackgroundStarted,
    ConversationRestored,
    Rewound,
    ShellFinished,
    ShellStarted,
    WheelGiven,
    WheelTaken,
)

__all__ = [
    "BackgroundEnded",
    "BackgroundSaid",
    "BackgroundStarted",
    "BudgetChanged",
    "CallAdmitted",
    "ChangeCommitted",
    "Charged",
    "CheckAccepted",
    "CheckFinished",
    "CheckStarted",
    "CommandRefused",
    "CommandTaken",
    "ConfirmationFinished",
    "ConfirmationStarted",
    "ContextTrimmed",
    "ConversationCut",
    "ConversationRestored",
    "CriticSpoke",
    "DependenciesFound",
    "DependenciesRecorded",
    "DependencyFolder",
    "Event",
    "EventBase",
    "EvidenceAdded",
    "Fault",
    "FileChanged",
    "FindingJudged",
    "FindingReopened",
    "FindingReported",
    "GateModeChanged",
    "GuardApproved",
    "GuardSealed",
    "HandoffClosed",
    "HandoffOpened",
    "HoldReleased",
    "ImagesRefused",
    "Interrupted",
    "ItemDuplicate",
    "ItemFailed",
    "ItemQueued",
    "ItemSkipped",
    "KnownEvent",
    "LensAdded",
    "LensBriefed",
    "LimitsChanged",
    "ModelQuoted",
    "ModelSwitched",
    "PassFinished",
    "PassStarted",
    "PatchKept",
    "Paused",
    "PlanChanged",
    "PredicateJudged",
    "PromptShortened",
    "Prompted",
    "ProposalDecided",
    "ProposalOpened",
    "ProposalRebased",
    "QuestionAnswered",
    "QuestionAsked",
    "Queued",
    "ReadsPlaced",
    "ReasoningArrived",
    "ReasoningKept",
    "Record",
    "ReplyFinished",
    "Rewound",
    "RuleAdded",
    "RunEnded",
    "RunResumed",
    "RunStarted",
    "RunVerified",
    "Said",
    "ScopeCounted",
    "ScoreMeasured",
    "ScoreNotMeasured",
    "ShellFinished",
    "ShellStarted",
    "Sleeping",
    "Snapshotted",
    "StallDetected",
    "Stamped",
    "StepFinished",
    "StepStarted",
    "TextArrived",
    "TierAsked",
    "TierPassed",
    "ToolCalled",
    "ToolFinished",
    "TryChosen",
    "TryFinished",
    "TryMeasured",
    "TryStarted",
    "Undone",
    "Unknown",
    "Unpaused",
    "Unqueued",
    "VoteCast",
    "Waiting",
    "WheelGiven",
    "WheelTaken",
    "Woken",
    "WorkFinished",
    "WorkStarted",
    "candidate_of",
    "decode_event",
    "encode_event",
    "event_name",
    "event_type",
    "is_try",
    "to_json_line",
    "try_name",
]


class Unknown(msgspec.Struct, frozen=True):
    """An event that this version does not know. It is shown as a line and is never an error."""

    type: str
    raw: bytes


KnownEvent = (
    RunStarted
    | RunResumed
    | PassStarted
    | PatchKept
    | PassFinished
    | ModelSwitched
    | ModelQuoted
    | BudgetChanged
    | LimitsChanged
    | GateModeChanged
    | RuleAdded
    | Paused
    | Unpaused
    | Waiting
    | Sleeping
    | Woken
    | HandoffOpened
    | HandoffClosed
    | TierAsked
    | TierPassed
    | RunEnded
    | WorkStarted
    | WorkFinished
    | StepStarted
    | StepFinished
    | ContextTrimmed
    | PromptShortened
    | ImagesRefused
    | CallAdmitted
    | TextArrived
    | ReasoningArrived
    | ReasoningKept
    | Charged
    | HoldReleased
    | ReplyFinished
    | ToolCalled
    | ToolFinished
    | FileChanged
    | GuardSealed
    | GuardApproved
    | ChangeCommitted
    | Fault
    | Prompted
    | Snapshotted
    | StallDetected
    | CheckStarted
    | CheckAccepted
    | CheckFinished
    | PredicateJudged
    | ScoreMeasured
    | ScoreNotMeasured
    | ProposalOpened
    | ProposalRebased
    | ProposalDecided
    | QuestionAsked
    | QuestionAnswered
    | Said
    | Queued
    | Unqueued
    | Interrupted
    | CommandTaken
    | CommandRefused
    | PlanChanged
    | ConversationCut
    | ItemQueued
    | ItemDuplicate
    | ItemFailed
    | FindingReported
    | FindingJudged
    | ItemSkipped
    | VoteCast
    | FindingReopened
    | EvidenceAdded
    | LensAdded
    | CriticSpoke
    | LensBriefed
    | ScopeCounted
    | ReadsPlaced
    | Undone
    | BackgroundEnded
    | BackgroundSaid
    | BackgroundStarted
    | ConversationRestored
    | Rewound
    | ShellFinished
    | ShellStarted
    | WheelGiven
    | WheelTaken
    | DependenciesFound
    | DependenciesRecorded
    | ConfirmationStarted
    | ConfirmationFinished
    | RunVerified
    | TryStarted
    | TryFinished
    | TryMeasured
    | TryChosen
)
Event = KnownEvent | Unknown


class Stamped(msgspec.Struct, frozen=True):
    """An event with its position in the journal."""

    seq: int
    at: float
    """Time of the event in Unix seconds."""
    step: int | None
    work: str | None
    event: Event


Record = Callable[[Event], Stamped]
"""Writes an event to the journal. The caller that passes it on binds it to a step."""

_kinds: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownEvent)}
_names: dict[type[Any], str] = {kind: name for name, kind in _kinds.items()}
_beside_the_head = {kind for kind in _names if not {"seq", "at", "step", "work"} & set(kind.__struct_fields__)}
"""Events without fields that are named like envelope fields: their line is joined from two texts, ten times as fast."""


_decoders: dict[str, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: str) -> msgspec.json.Decoder[Any] | None:
    """Return the decoder of an event type; None: unknown type. Created on first use: all together take 30 ms."""
    if kind not in _kinds:
        return None
    return _decoders.setdefault(kind, msgspec.json.Decoder(_kinds[kind]))


_encoder = msgspec.json.Encoder()


def event_type(event: Event) -> str:
    """Return the event's name on the wire, such as `run_started`."""
    return event.type if isinstance(event, Unknown) else _names[type(event)]


def event_name(kind: type[KnownEvent]) -> str:
    """Return the name on the wire for an event class."""
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
    if type(stamped.event) in _beside_the_head:
        return _encoder.encode(head)[:-1] + b"," + body[1:]
    return _encoder.encode({**head, **msgspec.json.decode(body)})
