"""Write the spans of a run as OTLP in JSON, as a collector's HTTP address and its file receiver read it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .live_export import spans_of
from .span import Span
from .span_target import require_packages

if TYPE_CHECKING:
    from ...protocol import RunSpec, Stamped

_BATCH = 1_000
"""Spans in one line."""
_BATCH_CHARACTERS = 2_000_000
"""About the most characters of a line."""
_IDS = ("traceId", "spanId", "parentSpanId")


def otlp_lines(spec: RunSpec, events: Iterable[Stamped], *, with_content: bool) -> Iterator[bytes]:
    """Yield lines of JSON, each a request of OTLP with many spans. Raises UserError without the packages.

    A span that has not ended is missing.
    """
    require_packages("--format otlp")
    fold = spans_of(spec, with_content=with_content)
    ended = (span for stamped in events for span in fold.apply(stamped))
    return map(_line, _batches(ended))


def _batches(spans: Iterable[Span]) -> Iterator[list[Span]]:
    batch, characters = list[Span](), 0
    for span in spans:
        batch.append(span)
        characters += span.characters
        if len(batch) == _BATCH or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _line(spans: list[Span]) -> bytes:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    from .otlp import readable_spans

    request: Any = MessageToDict(encode_spans(readable_spans(spans)), use_integers_for_enums=True)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                _write_ids_in_hex(span)
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


def _write_ids_in_hex(span: dict[str, Any]) -> None:
    """Replace base64, which protobuf writes for bytes, by the hexadecimal form that OTLP prescribes for ids."""
    for holder in (span, *span.get("links", ())):
        holder |= {name: b64decode(holder[name]).hex() for name in _IDS if name in holder}
