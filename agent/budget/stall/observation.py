"""Define what stall detectors observe: one observation for each step."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ...protocol import StallKind


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call and its result."""

    action: str
    """Name of the tool."""
    arguments: Any = None
    result: str = ""
    ok: bool = True
    refused: bool = False
    """Whether a person refused the call."""
    is_note: bool = False
    """Whether the call is a plan or a note, which neither repeats work nor interrupts a repetition."""
    poll: bool = False
    """Whether the tool waits for something, so an equal result is not a repetition."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One step: the model's answer, the results of its calls, and the workspace after them."""

    calls: list[Call] = []
    text: str = ""
    """The text of the model's answer."""
    world: str | None = None
    """Fingerprint of the workspace after the step, or None if it did not change."""
    score: float | None = None
    """A measure of the work after the step, such as the number of failing tests, or None if not measured."""
    new: int | None = None
    """Number of new keys in a search's pass. None means that the run is not a search."""
    at: float = 0.0
    """Seconds of any monotonic clock."""
    step: int | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A stall that a detector found, and how to respond to it."""

    kind: StallKind
    signature: str
    """What is repeated, in a few words."""
    response: Literal["hint", "stop"]
    """`hint`: send a hint to the model. `stop`: it already got a hint; end the run or hand it off."""
