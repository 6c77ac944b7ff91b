"""Parse `[model] params`: additional fields of each request. Fields that rundry sets or accounts for are refused."""

from __future__ import annotations

import json
from typing import cast

from ..protocol import UserError

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


def read_params(value: object, now: float) -> dict[str, object]:
    """Parse a table of JSON values. Raises UserError for a reserved name."""
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


def _refuse(name: str, shown: str) -> None:
    plain = name.lower().replace("-", "_")
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_").replace("-", "_")
    if plain in RESERVED or snake in RESERVED:
        known = plain if plain in _FIX else snake
        fix = f"use {_FIX[known]}" if known in _FIX else "remove it"
        raise UserError(f"{shown} cannot be set here, because rundry sets it or could not know the price: {fix}")
