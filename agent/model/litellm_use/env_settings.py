"""Read litellm's settings other than the key (such as a region or a project) from environment variables."""

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
"""Each provider's arguments for litellm, with the variables for each argument, the usual one first."""
_SECRETS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")

SIGNING = frozenset(_SETTINGS) - {"azure"} | {"oci"}
"""Providers that sign requests or fetch tokens. They must not get a placeholder key, because they would use it."""


def settings_from(provider: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that the environment sets. litellm searches other places for the rest."""
    names = _SETTINGS.get(provider, {})
    found = {argument: next((env[n] for n in of if env.get(n)), "") for argument, of in names.items()}
    return {argument: value for argument, value in found.items() if value}


def secrets_in(settings: Mapping[str, str]) -> list[str]:
    """Return the values that must not be shown."""
    return [settings[name] for name in _SECRETS if name in settings]


def usual_variables(provider: str) -> str:
    """Return the variables that the user usually sets, joined by "and" for a message."""
    first = [of[0] for argument, of in _SETTINGS.get(provider, {}).items() if argument in _USUAL]
    return " and ".join(first)


_USUAL = ("aws_access_key_id", "aws_secret_access_key", "vertex_project", "vertex_credentials")
