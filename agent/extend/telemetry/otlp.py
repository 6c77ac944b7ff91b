"""Convert spans to those of the OpenTelemetry SDK. It is imported only when spans are sent or exported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from ...protocol.version import VERSION

if TYPE_CHECKING:
    from .span import Span

_SERVICE = "service.name"
_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}


def readable_spans(spans: Sequence[Span]) -> list[ReadableSpan]:
    """Return the spans as the SDK's exporters take them."""
    return [_readable(span) for span in spans]


def _readable(span: Span) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace, span.id),
        parent=None if span.parent is None else _context(span.trace, span.parent),
        resource=resource(),
        attributes=span.attributes,
        links=() if span.link is None else (Link(_context(span.trace, span.link)),),
        kind=_KINDS[span.kind],
        status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
        start_time=round(span.start * 1e9),
        end_time=round(span.end * 1e9),
        instrumentation_scope=InstrumentationScope("rundry", VERSION),
    )


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


@cache
def resource() -> Resource:
    """Return what describes the service. The standard variables can name it differently."""
    is_named = os.environ.get("OTEL_SERVICE_NAME") or f"{_SERVICE}=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    name = {} if is_named else {_SERVICE: "rundry"}
    return Resource.create({**name, "service.version": VERSION})
