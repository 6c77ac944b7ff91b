"""Spans of runs for OpenTelemetry: a fold of events, and what sends them to a collector."""
