"""Where spans and metrics are sent."""

from __future__ import annotations

import pytest

from rundry.agent.extend.telemetry.span_target import target_of
from rundry.agent.protocol import OtelSpec, UserError

BASE, TRACES, METRICS = (f"OTEL_EXPORTER_OTLP_{name}ENDPOINT" for name in ("", "TRACES_", "METRICS_"))
HOST = "http://127.0.0.1:4318"


@pytest.mark.parametrize(
    ("endpoint", "env", "urls"),
    [
        (None, {BASE: f"{HOST}/"}, (f"{HOST}/v1/traces", f"{HOST}/v1/metrics")),
        (HOST, {}, (f"{HOST}/v1/traces", f"{HOST}/v1/metrics")),
        (f"{HOST}/v1/traces", {}, (f"{HOST}/v1/traces", f"{HOST}/v1/metrics")),
        (None, {TRACES: f"{HOST}/in/here"}, (f"{HOST}/in/here", None)),
        (None, {TRACES: f"{HOST}/in/here", METRICS: f"{HOST}/there"}, (f"{HOST}/in/here", f"{HOST}/there")),
        (None, {BASE: HOST, "OTEL_METRICS_EXPORTER": "none"}, (f"{HOST}/v1/traces", None)),
        (None, {METRICS: f"{HOST}/there"}, None),
        (HOST, {"OTEL_TRACES_EXPORTER": "none"}, None),
    ],
)
def test_an_address_is_that_of_its_signal_or_the_common_one(
    endpoint: str | None, env: dict[str, str], urls: tuple[str, str | None] | None
):
    found = target_of(OtelSpec(endpoint=endpoint), env)
    assert (found and (found.url, found.metrics_url)) == urls


def test_a_wrong_address_for_metrics_is_refused_with_its_variable():
    with pytest.raises(UserError, match=f"{METRICS} is not the address"):
        target_of(None, {BASE: HOST, METRICS: "not an address"})
