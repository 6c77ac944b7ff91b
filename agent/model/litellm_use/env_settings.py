"""What litellm needs besides a key to reach a provider, and the environment variables that say it."""

from __future__ import annotations

from collections.abc import Mapping

_AWS = {
    "aws_access_key_id": ("AWS_ACCESS_KEY_ID",),
    "aws_secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
    "aws_session_token": ("AWS_SESSION_TOKEN",),
    "aws_region_name": ("AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"),
    "aws_profile_name": ("AWS_PROFILE", "AWS_PROFILE_NAME"),
}
_VERTEX = {
    "vertex_project": ("VERTEXAI_PROJECT", "VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"),
    "vertex_location": ("VERTEXAI_LOCATION", "VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION"),
    "vertex_credentials": ("VERTEXAI_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"),
}
_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "azure": {"api_version": ("AZURE_API_VERSION",)},
    "bedrock": _AWS,
    "sagemaker": _AWS,
    "sagemaker_chat": _AWS,
    "vertex_ai": _VERTEX,
    "vertex_ai_beta": _VERTEX,
    "watsonx": {"project_id": ("WATSONX_PROJECT_ID", "WX_PROJECT_ID"), "space_id": ("WATSONX_DEPLOYMENT_SPACE_ID",)},
}
"""litellm's arguments, each with the variables that hold it, the usual one first."""
_SECRETS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")

SIGNING = frozenset(_SETTINGS) - {"azure"} | {"oci"}
"""Providers that sign requests or fetch tokens: a made-up key would be taken for a real one."""


def settings_from(provider: str, env: Mapping[str, str]) -> dict[str, str]:
    """The arguments that the environment gives. Nothing where it gives none: litellm then looks elsewhere."""
    names = _SETTINGS.get(provider, {})
    found = {argument: next((env[n] for n in of if env.get(n)), "") for argument, of in names.items()}
    return {argument: value for argument, value in found.items() if value}


def secrets_in(settings: Mapping[str, str]) -> list[str]:
    """Values that may not be shown."""
    return [settings[name] for name in _SECRETS if name in settings]


def names_missing(provider: str) -> str:
    """The variables that a person would set, as part of a sentence."""
    first = [of[0] for argument, of in _SETTINGS.get(provider, {}).items() if argument in _USUAL]
    return " and ".join(first)


_USUAL = ("aws_access_key_id", "aws_secret_access_key", "vertex_project", "vertex_credentials")
