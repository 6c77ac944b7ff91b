"""Send spans and metrics to a collector in a thread of its own, so that a collector that hangs delays nothing."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING

from .span import Span

if TYPE_CHECKING:
    from .span_target import SpanTarget

_PAUSE = 1.0
"""Seconds for which spans are collected before they are sent together."""
_TIMEOUT = 5.0
"""Seconds for one request with its retries, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise."""
_MOST_WAITING = 8_192
"""Spans that wait to be sent. When there are more, the oldest are dropped."""
_BATCH = 512
_BATCH_CHARACTERS = 2_000_000
"""About the most characters of one request: collectors refuse requests of many megabytes."""
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
_METRICS_TIMEOUTS = ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
_TAKES_NO_METRICS = (404, 405, 415, 501)
"""Answers of a collector that receives spans alone, such as Arize Phoenix."""


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
            requests = _Requests(self._target)
            while not self._closing.wait(_PAUSE):
                self._send_waiting(requests)
                self._report(requests.send_metrics(is_last=False))
            self._send_waiting(requests)
            self._report(requests.send_metrics(is_last=True))
        except Exception as error:  # noqa: BLE001 - a fault of the exporter must not reach the run
            self._fail(f"{type(error).__name__}: {error}")
        finally:
            self._closed.set()

    def _send_waiting(self, requests: _Requests) -> None:
        while self._waiting:
            spans, characters = list[Span](), 0
            while self._waiting and len(spans) < _BATCH and characters < _BATCH_CHARACTERS:
                spans.append(self._waiting.popleft())
                characters += spans[-1].characters
            if (why := requests.send(spans)) is not None:
                self._fail(why)
                return

    def _report(self, why: str | None) -> None:
        if why is not None:
            self._fail(why)

    def _fail(self, why: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._on_failure(why)


class _Answers(logging.Handler):
    """Keeps the status code that the exporter logs for a request that failed, and prints nothing."""

    status: object = None

    def is_of(self, statuses: Sequence[int]) -> bool:
        """Return whether the last request was answered with one of these."""
        return self.status in statuses

    def emit(self, record: logging.LogRecord) -> None:
        self.status = next((each for each in record.args or () if isinstance(each, int)), None)


class _Requests:
    """The exporters of one collector. Each method returns None, or why the request failed."""

    def __init__(self, target: SpanTarget) -> None:
        self._answers = _Answers()
        for name in ("opentelemetry", "urllib3"):
            logging.getLogger(name).addHandler(self._answers)
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        from .metrics import RunMetrics, interval

        self._spans = OTLPSpanExporter(endpoint=target.url, timeout=_timeout(_TIMEOUTS))
        url = target.metrics_url
        self._metrics = None if url is None else RunMetrics(url, _timeout(_METRICS_TIMEOUTS))
        self._interval, self._next = interval(), time.monotonic() + interval()
        self._is_measured = False
        """Something was measured that was not sent."""

    def send(self, spans: list[Span]) -> str | None:
        """Send these spans, and count them for the metrics."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        from .otlp import readable_spans

        if self._metrics is not None:
            self._metrics.measure(spans)
            self._is_measured = True
        self._answers.status = None
        if self._spans.export(readable_spans(spans)) is SpanExportResult.SUCCESS:
            return None
        return self._why()

    def send_metrics(self, *, is_last: bool) -> str | None:
        """Send the metrics if they are due. A collector that takes none gets no more of them."""
        if self._metrics is None or not self._is_measured or not (is_last or time.monotonic() >= self._next):
            return None
        self._next, self._is_measured = time.monotonic() + self._interval, False
        self._answers.status = None
        if self._metrics.send():
            return None
        if self._answers.is_of(_TAKES_NO_METRICS):
            self._metrics = None
            return None
        return self._why()

    def _why(self) -> str:
        status = self._answers.status
        return "it does not answer" if status is None else f"it answers with status {status}"


def _timeout(variables: Sequence[str]) -> float | None:
    return None if any(os.environ.get(name) for name in variables) else _TIMEOUT
