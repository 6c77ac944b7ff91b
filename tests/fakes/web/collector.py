"""A collector of OTLP over HTTP. The types of the package `opentelemetry-proto` read what it receives."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import HistogramDataPoint, Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

SECONDS = 30.0


class Collector:
    """Answers each request with `status`, and those with metrics with `of_metrics`. With `hangs`, it never answers."""

    def __init__(self, status: int = 200, *, of_metrics: int | None = None, hangs: bool = False) -> None:
        self.bodies: list[bytes] = []
        self.requests: list[ExportTraceServiceRequest] = []
        self.metric_requests: list[ExportMetricsServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._changed, self._release = threading.Condition(), threading.Event()
        self._status, self._hangs = status, hangs
        self._of_metrics = status if of_metrics is None else of_metrics
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="collector", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def spans(self) -> list[Span]:
        """All spans, in the order in which they arrived."""
        return spans_in(*self.requests)

    def wait_for(self, name: str) -> Span:
        """The first span whose name begins so."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(s.name.startswith(name) for s in self.spans), SECONDS), name
        return next(span for span in self.spans if span.name.startswith(name))

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name.startswith(name)]

    @property
    def metrics(self) -> dict[str, Metric]:
        """Those of the newest request, by name."""
        return {
            metric.name: metric
            for resource in self.metric_requests[-1].resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.receive(self.path, dict(self.headers), body)
                is_metrics = self.path.endswith("/v1/metrics")
                self.send_response(collector._of_metrics if is_metrics else collector._status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        with self._changed:
            self.paths.append(path)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            self.bodies.append(body)
            if path.endswith("/v1/metrics"):
                self.metric_requests.append(ExportMetricsServiceRequest.FromString(body))
            else:
                self.requests.append(ExportTraceServiceRequest.FromString(body))
            self._changed.notify_all()
        if self._hangs:
            self._release.wait(SECONDS)

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def spans_in(*requests: ExportTraceServiceRequest) -> list[Span]:
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes(span: Span | HistogramDataPoint) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in span.attributes}


def failed(span: Span) -> bool:
    return span.status.code == Status.STATUS_CODE_ERROR


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return None if kind is None else getattr(value, kind)
