"""What a view hands to a warm runner: which run, and how it is to be taken up."""

from __future__ import annotations

import msgspec

from ..protocol import GateMode, ModelSpec


class ResumeChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What is different when a run goes on."""

    limits: dict[str, float | None] = {}
    """By name as in `SetLimit`."""
    model: ModelSpec | None = None
    gate: GateMode | None = None
    unsandboxed_ok: bool = False
    on_stall: str | None = None
    hint: str | None = None
    """A first message for the model."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One line of JSON on the runner's standard input."""

    journal: str
    changes: ResumeChanges = ResumeChanges()
    stale: list[int] = []
    """Commands that an earlier runner left untaken: they are refused, not replayed."""
    linger: bool = True
    """Stay after the end while a view is attached, so that a raised limit goes on at once."""
    notes: list[str] = []
    """Lines for the person, recorded at the start."""


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sent before the order: which model the run will probably have."""

    model: str
