"""A span as plain data. Its ids follow from the run, so that each export of a run has the same ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

Value = str | bool | int | float | list[str]
SpanKind = Literal["internal", "client"]
"""`client`: a call of a server."""


@dataclass(frozen=True, slots=True)
class Span:
    """A finished span. Times are Unix seconds."""

    trace: int
    """128 bits."""
    id: int
    """64 bits."""
    parent: int | None
    name: str
    kind: SpanKind
    start: float
    end: float
    attributes: dict[str, Value]
    error: str | None = None
    """Why it failed, for the status of the span, or None if it did not fail."""
    link: int | None = None
    """Another span of the same trace: the one that this one continues."""

    @property
    def characters(self) -> int:
        """About how long it is when it is sent."""
        return 500 + sum(len(value) for value in self.attributes.values() if isinstance(value, str))


@dataclass(slots=True)
class OpenSpan:
    """A span that has not ended yet."""

    id: int
    parent: int | None
    name: str
    start: float
    kind: SpanKind = "internal"
    attributes: dict[str, Value] = field(default_factory=dict[str, Value])
    link: int | None = None

    def ended(self, trace: int, at: float, error: str | None = None, detail: str = "") -> Span:
        """Return the span with its end. `error`: the class of the error; `detail`: text for people."""
        if error is not None:
            self.attributes["error.type"] = error
        return Span(
            trace=trace,
            id=self.id,
            parent=self.parent,
            name=self.name,
            kind=self.kind,
            start=self.start,
            end=max(at, self.start),
            attributes=self.attributes,
            error=None if error is None else detail or error,
            link=self.link,
        )


def trace_id(run_id: str) -> int:
    """Return the id of the trace of a run and of all its child runs. `run_id`: that of the run above all."""
    return _number("trace", run_id, size=16)


def run_span_id(run_id: str, session: int = 1) -> int:
    """Return the id of the span of a run. Each resume begins a further session with a span of its own."""
    return _number("run", run_id, str(session), size=8)


def event_span_id(run_id: str, seq: int) -> int:
    """Return the id of the span that begins with this event of a run."""
    return _number("event", run_id, str(seq), size=8)


def _number(*parts: str, size: int) -> int:
    return int.from_bytes(sha256("\0".join(parts).encode(errors="replace")).digest()[:size], "big") or 1
