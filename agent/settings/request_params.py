"""Parse `[model] params` and `[model] headers`: additional fields and headers of each request to the model's server."""

from __future__ import annotations

import json
import re
from typing import cast

from ..protocol import UserError
from .value_schema import takes

RESERVED = frozenset({
    # fields of the request itself
    "model", "messages", "input", "prompt", "system", "tools", "tool_choice", "functions", "function_call", "stream",
    "stream_options", "response_format", "reasoning_effort",
    # fields that affect the amount of output or its price
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict", "n", "best_of",
    "num_ctx", "service_tier", "speed", "inference_geo", "models", "route", "fallbacks", "plugins",
    "web_search_options", "mcp_servers", "extra_body", "context_window_fallback_dict",
    # fields that affect the destination of the request
    "api_base", "base_url", "api_key", "headers", "extra_headers", "default_headers", "client", "organization",
    "custom_llm_provider", "timeout", "request_timeout", "stream_timeout", "max_retries", "num_retries",
    "mock_response", "mock_tool_calls", "litellm_params", "metadata_url", "proxy", "api_type", "ssl_verify",
    "callbacks", "logger_fn", "success_callback", "failure_callback", "deployment_id", "drop_params",
})  # fmt: skip
"""Fields that rundry sets itself, or that change the price or destination of a call."""
_FIX = {
    "model": "--model", "api_base": "--api-base", "base_url": "--api-base", "reasoning_effort": "--effort",
    "api_key": "the provider's variable or key_from", "num_ctx": "--context",
    "max_tokens": "max_output", "max_completion_tokens": "max_output", "max_output_tokens": "max_output",
    "max_new_tokens": "max_output", "num_predict": "max_output", "headers": "[model] headers",
    "extra_headers": "[model] headers", "default_headers": "[model] headers",
    "organization": "the variable OPENAI_ORG_ID",
}  # fmt: skip
_CLOUD = ("aws_", "azure_", "vertex_", "oci_", "sap_", "watsonx_", "litellm_", "api_", "s3_", "gcs_")
"""Prefixes of fields that choose the account or location of a call."""
_NESTED = ("options", "extra_options", "config", "generation_config", "generationConfig")
"""Tables in which a provider accepts limits, too."""
_MOST = 16_384
"""Maximum number of characters of all parameters as JSON."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""RFC 9110, section 5.1: a token."""
_OWN_HEADERS = frozenset({
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie",
    "expect", "host", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
"""Headers that the HTTP client sets, or that would change what a request is or where it goes."""


@takes({"type": "object", "propertyNames": {"not": {"enum": sorted(RESERVED)}}})
def read_params(value: object, now: float) -> dict[str, object]:
    """Parse a table of JSON values. Raises UserError for a field that rundry sets or accounts for."""
    del now
    if not isinstance(value, dict):
        raise UserError(f"{value!r} is not a table: write params = {{ temperature = 0.2 }}")
    params = cast("dict[str, object]", value)
    for name, inner in params.items():
        _refuse(name, name)
        if name in _NESTED and isinstance(inner, dict):
            for deeper in cast("dict[str, object]", inner):
                _refuse(deeper, f"{name}.{deeper}")
    try:
        size = len(json.dumps(params, allow_nan=False))
    except (TypeError, ValueError):
        raise UserError("a parameter is a text, a number, true, false, a list or a table") from None
    if size > _MOST:
        raise UserError(f"the parameters have {size:,} characters, but at most {_MOST:,} are possible: remove some")
    return params


def refuse_account_fields(params: dict[str, object]) -> None:
    """Raise UserError for a field that selects an account or a location.

    Only the user's own config may set such fields (docs/requirements.md 11.4).
    """
    for name in params:
        if name.lower().startswith(_CLOUD):
            raise UserError(f"{name} selects an account or a location: set it in your own config")


@takes(
    {
        "type": "object",
        "propertyNames": {"pattern": f"^{_HEADER_NAME.pattern}$"},
        "additionalProperties": {"type": "string", "pattern": r"^[\x20-\x7e]*[\x21-\x7e][\x20-\x7e]*$"},
    }
)
def read_headers(value: object, now: float) -> dict[str, str]:
    """Parse a table of texts. `${NAME}` stands for an environment variable. Raises UserError."""
    del now
    if not isinstance(value, dict):
        raise UserError(f'{value!r} is not a table: write headers = {{ X-Team = "search" }}')
    headers = cast("dict[str, object]", value)
    for name, text in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise UserError(f"{name!r} is not the name of a header: use letters, digits and -")
        if name.lower() in _OWN_HEADERS:
            raise UserError(f"{name} cannot be set here, because rundry sets it: remove it")
        if not isinstance(text, str) or not text.strip() or not (text.isascii() and text.isprintable()):
            raise UserError(f"{name}: {text!r} is not a text of ASCII characters in one line: write it in quotes")
    if len({name.lower() for name in headers}) < len(headers):
        raise UserError("a header is given twice in different spellings: keep one")
    return {name: str(text).strip() for name, text in headers.items()}


def _refuse(name: str, shown: str) -> None:
    plain = name.lower().replace("-", "_")
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_").replace("-", "_")
    if plain in RESERVED or snake in RESERVED:
        known = plain if plain in _FIX else snake
        fix = f"use {_FIX[known]}" if known in _FIX else "remove it"
        raise UserError(f"{shown} cannot be set here, because rundry sets it or could not know the price: {fix}")
