"""Send spans to a collector in a thread of its own, so that a collector that hangs delays nothing."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .span import Span
    from .span_target import SpanTarget

_PAUSE = 1.0
"""Seconds for which spans are collected before they are sent together."""
_TIMEOUT = 5.0
"""Seconds for one request with its retries, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise."""
_MOST_WAITING = 8_192
"""Spans that wait to be sent. When there are more, the oldest are dropped."""
_BATCH = 512
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")


class SpanSender:
    """Sends spans. Its thread ends with the process, even if the collector hangs."""

    def __init__(self, target: SpanTarget, on_failure: Callable[[str], None]) -> None:
        """`on_failure` is called once, in the thread, with why a request failed."""
        self._target, self._on_failure = target, on_failure
        self._waiting: deque[Span] = deque(maxlen=_MOST_WAITING)
        self._closing, self._closed = Event(), Event()
        self._has_failed = False
        self._thread = Thread(target=self._run, name="telemetry", daemon=True)

    def put(self, spans: Iterable[Span]) -> None:
        """Send the spans later. Returns immediately."""
        self._waiting.extend(spans)
        if self._waiting and not self._thread.is_alive() and not self._closing.is_set():
            self._thread.start()

    def close(self, seconds: float) -> bool:
        """Send what still waits. Returns after this time even if the collector has not answered, then False."""
        self._closing.set()
        return not self._thread.is_alive() or self._closed.wait(seconds)

    def _run(self) -> None:
        try:
            send = _requests(self._target)
            while not self._closing.wait(_PAUSE):
                self._send_waiting(send)
            self._send_waiting(send)
        except Exception as error:  # noqa: BLE001 - a fault of the exporter must not reach the run
            self._fail(f"{type(error).__name__}: {error}")
        finally:
            self._closed.set()

    def _send_waiting(self, send: Callable[[list[Span]], str | None]) -> None:
        while self._waiting:
            spans = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            if (why := send(spans)) is not None:
                self._fail(why)
                return

    def _fail(self, why: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._on_failure(why)


class _Answers(logging.Handler):
    """Keeps the status code that the exporter logs for a request that failed, and prints nothing."""

    status: object = None

    def emit(self, record: logging.LogRecord) -> None:
        self.status = next((each for each in record.args or () if isinstance(each, int)), None)


def _requests(target: SpanTarget) -> Callable[[list[Span]], str | None]:
    """Return what sends spans in one request: it returns None, or why the request failed."""
    answers = _Answers()
    for name in ("opentelemetry", "urllib3"):
        logging.getLogger(name).addHandler(answers)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    from .otlp import readable_spans

    timeout = None if any(os.environ.get(name) for name in _TIMEOUTS) else _TIMEOUT
    exporter = OTLPSpanExporter(endpoint=target.url, timeout=timeout)

    def send(spans: list[Span]) -> str | None:
        answers.status = None
        if exporter.export(readable_spans(spans)) is SpanExportResult.SUCCESS:
            return None
        return "it does not answer" if answers.status is None else f"it answers with status {answers.status}"

    return send
