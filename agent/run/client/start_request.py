"""The lines of JSON between a view and the warm runner that it started."""

from __future__ import annotations

import msgspec

from ...protocol import PERSON, Decide, GateMode, ImageRef, LimitValue, ModelSpec, OnAsk, OnStall, RunSpec


class ResumeChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What to change when a run is resumed."""

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
    """A decision on a proposal that is still open from an earlier runner."""
    damaged: bool = False
    """Whether to resume without the events that are damaged or missing."""
    executor: str | None = None
    """Another Dask cluster for the search, as `--executor` names it."""
    channel: str = ""
    """The program through which the gate was set, as in `SetGateMode`."""
    accept: str | None = None
    """Digest of the suspect result that the person accepts."""
    by: str = PERSON
    """`person`, or the MCP client (`mcp:NAME`) that resumes the run."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The request to drive a run: the last line on the runner's standard input."""

    journal: str
    changes: ResumeChanges = ResumeChanges()
    stale: list[int] = []
    """Ids of commands that an earlier runner did not take: they are refused."""
    linger: bool = True
    """Whether to stay after the end while a view is attached, so that the run can continue when a limit is raised."""
    headless: bool | None = None
    """Whether the run has no screen of its own. None means that it has one if `linger` is set."""
    notes: list[str] = []
    """Lines for the user, recorded at the start."""

    @property
    def is_headless(self) -> bool:
        """Whether the run has no screen of its own, so that the policy decides while no view is attached."""
        return not self.linger if self.headless is None else self.headless


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line before the `Order`: the model that the run will probably use, so that the runner can prepare for it."""

    model: ModelSpec
    is_typing: bool = False
    """Whether the user types a message. Until then, only what takes seconds is prepared."""
    spec: RunSpec | None = None
    """The spec of the run if it began now, with an empty task. Its sandbox is tried while the user types."""
    runs: str = ""
    """The folder of the journals."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A line before the `Order`: the spec of a run to check. The runner answers with `Reply` lines."""

    check: RunSpec
    runs: str
    """The folder of the journals."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One line from the runner to the view that started it."""

    said: str = ""
    """What the user waits for, in words."""
    fits: bool = False
    """Whether the run can begin. This is the last reply to a `Check`."""
    refused: str = ""
    """Why the run cannot begin or continue. This is the last reply to a `Check`."""
    later: bool = False
    """Whether a refused run may begin when it is tried again later."""
