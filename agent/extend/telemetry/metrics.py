"""Metrics of the conventions, measured from spans that ended. It is imported only when spans are sent."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from ...protocol.tools.mcp import server_of
from ...protocol.tools.traits import TOOL_TRAITS
from ...protocol.version import VERSION
from . import conventions as names
from .otlp import resource

if TYPE_CHECKING:
    from .span import Span

_TOKENS = [4**power for power in range(14)]
_SECONDS = [0.01 * 2**power for power in range(14)]
_RUN_SECONDS = [0.1 * 2**power for power in range(13)]
"""The bounds of the buckets that the conventions prescribe."""
_OF_CALL = (names.OPERATION, names.PROVIDER, names.MODEL)
_DEFAULT_INTERVAL = 60_000
_INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"


class _Exporter(OTLPMetricExporter):
    """Remembers whether the last request succeeded."""

    succeeded = True

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: object
    ) -> MetricExportResult:
        base: Any = super()  # its type is unknown in part
        result: MetricExportResult = base.export(metrics_data, timeout_millis, **kwargs)
        self.succeeded = result is MetricExportResult.SUCCESS
        return result


class RunMetrics:
    """Histograms of one process, with the sums since its start unless a standard variable asks for differences."""

    def __init__(self, url: str, timeout: float | None) -> None:
        self._exporter = _Exporter(endpoint=url, timeout=timeout)
        self._reader = PeriodicExportingMetricReader(self._exporter, export_interval_millis=math.inf)
        # two processes with the same resource would overwrite each other's sums
        instance = resource().merge(Resource({"service.instance.id": str(uuid4())}))
        provider = MeterProvider([self._reader], resource=instance, shutdown_on_exit=False)
        meter = provider.get_meter("rundry", VERSION)
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._durations = {
            operation: meter.create_histogram(
                f"gen_ai.{name}.duration", "s", description, explicit_bucket_boundaries_advisory=bounds
            )
            for operation, name, description, bounds in (
                ("chat", "client.operation", "GenAI operation duration.", _SECONDS),
                ("execute_tool", "execute_tool", "The duration of a single tool execution.", _SECONDS),
                ("invoke_agent", "invoke_agent", "The end-to-end duration of a single agent invocation.", _RUN_SECONDS),
            )
        }
        self._first_chunk = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            "s",
            "Time to receive the first chunk.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )

    def measure(self, spans: Iterable[Span]) -> None:
        """Count these spans."""
        for span in spans:
            about, operation = span.attributes, span.attributes.get(names.OPERATION)
            if not isinstance(operation, str) or operation not in self._durations:
                continue
            labels = _labels(span)
            failed = {names.ERROR: about[names.ERROR]} if names.ERROR in about else {}
            self._durations[operation].record(span.end - span.start, {**labels, **failed})
            if operation == "chat":
                self._measure_call(span, labels)

    def send(self) -> bool:
        """Send the sums. Returns whether the collector took them."""
        self._exporter.succeeded = True
        self._reader.collect()
        return self._exporter.succeeded

    def _measure_call(self, span: Span, labels: dict[str, str]) -> None:
        about = span.attributes
        is_counted = "rundry.usage.estimated" not in about
        for name, kind in ((names.TOKENS_IN, "input"), (names.TOKENS_OUT, "output")):
            if is_counted and isinstance(count := about.get(name), int):
                self._tokens.record(count, {**labels, names.TOKEN_TYPE: kind})
        if isinstance(first := about.get(names.FIRST_CHUNK), float):
            self._first_chunk.record(first, labels)


def interval() -> float:
    """Return the seconds between two requests, of the standard variable."""
    given = os.environ.get(_INTERVAL, "").strip()
    return (int(given) if given.isdecimal() and int(given) else _DEFAULT_INTERVAL) / 1000


def _labels(span: Span) -> dict[str, str]:
    """Return the attributes of what is measured: each has few values, so no ids, and no names that a model made up."""
    about = span.attributes
    match about[names.OPERATION]:
        case "chat":
            return {name: str(about[name]) for name in _OF_CALL if name in about}
        case "execute_tool":
            tool = str(about.get(names.TOOL, ""))
            is_known = tool in TOOL_TRAITS or server_of(tool) is not None
            return {names.OPERATION: "execute_tool", names.TOOL: tool if is_known else "_OTHER"}
        case _:
            return {names.AGENT: "rundry"}
