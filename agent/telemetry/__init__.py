"""Spans of runs for OpenTelemetry: a fold of events, and what sends them to a collector."""

from .export import otlp_lines
from .live import Telemetry
from .target import Target, target_of

__all__ = ["Target", "Telemetry", "otlp_lines", "target_of"]
