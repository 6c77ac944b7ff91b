"""What a view hands to a warm runner: which run, and how it is to be taken up."""

from __future__ import annotations

import msgspec

from ...protocol import Decide, GateMode, ImageRef, LimitValue, ModelSpec, RunSpec


class ResumeChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What is different when a run goes on."""

    limits: dict[str, LimitValue] = {}
    """By name as in `SetLimit`."""
    model: ModelSpec | None = None
    gate: GateMode | None = None
    unsandboxed_ok: bool = False
    on_ask: str | None = None
    on_stall: str | None = None
    hint: str | None = None
    """A first message for the model."""
    images: list[ImageRef] = []
    """Of the hint."""
    decision: Decide | None = None
    """On a proposal that outlived its runner."""
    damaged: bool = False
    """Resume without the events that are damaged or missing."""
    accept: str | None = None
    """Digest of the suspect result that a person accepts."""


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


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A line before the order: can this run begin? The runner answers with `Reply` lines, the last of which decides."""

    check: RunSpec


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One line from the runner to the view that started it."""

    said: str = ""
    """What the person waits for."""
    fits: bool = False
    """The run can begin."""
    refused: str = ""
    """Why a run cannot begin or go on."""
    later: bool = False
    """Trying later can help."""
