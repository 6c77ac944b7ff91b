"""Where the spans of a run are sent: the standard variables of OpenTelemetry, or `[otel] endpoint` in the config."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from ...host.extras import missing_extra
from ...protocol import OtelSpec, UserError
from ...settings.option_values import is_address

_TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_ANY = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PATH = "/v1/traces"
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
    """The address that receives spans."""

    url: str

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
    if traces := env.get(_TRACES, "").strip():
        origin, url = _TRACES, traces
    elif base := env.get(_ANY, "").strip():
        origin, url = _ANY, f"{base.rstrip('/')}{_PATH}"
    elif otel is not None and otel.endpoint is not None:
        origin = "[otel] endpoint"
        url = otel.endpoint if otel.endpoint.endswith(_PATH) else f"{otel.endpoint.rstrip('/')}{_PATH}"
    else:
        return None
    if not is_address(url):
        raise UserError(f"{origin} is not the address of a collector: write it like http://127.0.0.1:4318")
    require_packages(f"{origin} is set", ", or set OTEL_SDK_DISABLED=true")
    return SpanTarget(url)


def require_packages(what: str, or_else: str = "") -> None:
    """Raise UserError with how to install the packages of the extra `otel`. `what`: what needs them."""
    if (how := missing_extra("otel", *_MODULES)) is not None:
        raise UserError(f"{what}: OpenTelemetry is not installed; {how}{or_else}")
