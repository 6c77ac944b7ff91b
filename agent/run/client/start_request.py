"""What a view sends to a warm runner: which run, and how to resume it."""

from __future__ import annotations

import msgspec

from ...protocol import Decide, GateMode, ImageRef, LimitValue, ModelSpec, OnAsk, OnStall, RunSpec


class ResumeChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What changes when a run resumes."""

    limits: dict[str, LimitValue] = {}
    """New limits by name, as in `SetLimit`."""
    model: ModelSpec | None = None
    gate: GateMode | None = None
    unsandboxed_ok: bool = False
    on_ask: OnAsk | None = None
    on_stall: OnStall | None = None
    hint: str | None = None
    """A first message for the model."""
    images: list[ImageRef] = []
    """Images of the hint."""
    decision: Decide | None = None
    """A decision on a proposal that outlived its runner."""
    damaged: bool = False
    """Resume without the events that are damaged or missing."""
    accept: str | None = None
    """Digest of the suspect result that the user accepts."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One line of JSON on the runner's standard input."""

    journal: str
    changes: ResumeChanges = ResumeChanges()
    stale: list[int] = []
    """Commands that an earlier runner did not take: they are refused, not replayed."""
    linger: bool = True
    """Stay after the end while a view is attached, so that the run can continue when a limit is raised."""
    headless: bool | None = None
    """Whether no screen owns the run; None: none does unless the run lingers."""
    notes: list[str] = []
    """Lines for the user, recorded at the start."""

    @property
    def is_headless(self) -> bool:
        """Whether no screen owns the run: without a view, the policy decides."""
        return not self.linger if self.headless is None else self.headless


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line before the order: the model that the run will probably use."""

    model: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A line before the order: can this run begin? The runner answers with `Reply` lines; the last one decides."""

    check: RunSpec


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One line from the runner to the view that started it."""

    said: str = ""
    """What the user waits for."""
    fits: bool = False
    """Whether the run can begin."""
    refused: str = ""
    """Why a run cannot begin or continue."""
    later: bool = False
    """Whether trying later can help."""
