"""What a detector sees of a run: one observation a step."""

from __future__ import annotations

from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call with what came back."""

    action: str
    """The tool's name."""
    arguments: Any = None
    result: str = ""
    ok: bool = True
    refused: bool = False
    """A person said no."""
    aside: bool = False
    """A plan or a note: it neither repeats the work nor interrupts a repetition."""
    poll: bool = False
    """The tool is declared as a wait: the same answer again is no news, and no fault."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One step: a model's answer, what its calls brought, and the workspace after it."""

    calls: list[Call] = []
    text: str = ""
    """What the model said."""
    world: str | None = None
    """Fingerprint of the workspace after the step; None: it did not change."""
    score: float | None = None
    """A measure of the work after the step, such as the number of failing tests; None: not measured."""
    new: int | None = None
    """New keys of a finder's pass; None: this is no finder."""
    at: float = 0.0
    """Seconds, of any clock that does not run backwards."""
    step: int | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A detector fired."""

    kind: str
    """`repeat`, `error`, `same-error`, `refused`, `cycle`, `oscillation`, `monologue`, `empty`, `stagnation`, `poll`,
    `chant` or `tool-errors`."""
    signature: str
    """What goes round in circles, in a few words."""
    response: str
    """`hint`: tell the model. `stop`: it was told before; end the run, or hand it off."""
