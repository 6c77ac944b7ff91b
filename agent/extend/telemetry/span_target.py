"""Where the spans and metrics of a run are sent: the standard variables of OpenTelemetry, or `[otel] endpoint`."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from ...host.extras import missing_extra
from ...protocol import OtelSpec, UserError
from ...settings.option_values import is_address

_TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_ANY = "OTEL_EXPORTER_OTLP_ENDPOINT"
_METRICS = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
_PATH = "/v1/traces"
_METRICS_PATH = "/v1/metrics"
_MODULES = (
    "opentelemetry",
    "opentelemetry.sdk",
    "opentelemetry.exporter",
    "opentelemetry.exporter.otlp",
    "opentelemetry.exporter.otlp.proto",
    "opentelemetry.exporter.otlp.proto.http",
)
"""Each module after the one that contains it."""


class SpanTarget(msgspec.Struct, frozen=True):
    """The addresses that receive spans and metrics."""

    url: str
    metrics_url: str | None = None
    """None means that no metrics are sent."""

    @property
    def server(self) -> str:
        """The scheme, host and port, for messages."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def target_of(otel: OtelSpec | None, env: Mapping[str, str]) -> SpanTarget | None:
    """Return where spans are sent. None means nowhere. Raises UserError for a wrong address or missing packages.

    A variable counts more than the config, and `OTEL_SDK_DISABLED=true` or `OTEL_TRACES_EXPORTER=none` more than both.
    """
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or env.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    configured = "" if otel is None else (otel.endpoint or "").removesuffix(_PATH).rstrip("/")
    base = env.get(_ANY, "").strip().rstrip("/") or configured
    origin = _ANY if env.get(_ANY, "").strip() else "[otel] endpoint"
    if traces := env.get(_TRACES, "").strip():
        origin, url = _TRACES, traces
    elif base:
        url = f"{base}{_PATH}"
    else:
        return None
    if not is_address(url):
        raise UserError(f"{origin} is not the address of a collector: write it like http://127.0.0.1:4318")
    require_packages(f"{origin} is set", ", or set OTEL_SDK_DISABLED=true")
    return SpanTarget(url, _metrics_url(env, base))


def _metrics_url(env: Mapping[str, str], base: str) -> str | None:
    """Return where metrics are sent, or None if nowhere. `base`: the address of all signals. Raises UserError."""
    if env.get("OTEL_METRICS_EXPORTER", "").strip().lower() == "none":
        return None
    own = env.get(_METRICS, "").strip()
    url = own or (f"{base}{_METRICS_PATH}" if base else None)
    if url is not None and not is_address(url):
        raise UserError(f"{_METRICS} is not the address of a collector: write it like http://127.0.0.1:4318/v1/metrics")
    return url


def require_packages(what: str, or_else: str = "") -> None:
    """Raise UserError with how to install the packages of the extra `otel`. `what`: what needs them."""
    if (how := missing_extra("otel", *_MODULES)) is not None:
        raise UserError(f"{what}: OpenTelemetry is not installed; {how}{or_else}")
