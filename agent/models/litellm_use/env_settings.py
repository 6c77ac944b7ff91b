"""Read litellm's settings other than the key (such as a region or a project) from environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

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

SIGNING = frozenset(_SETTINGS) - {"azure"} | {
    "oci", "bedrock_mantle", "sagemaker_nova", "gdc", "gigachat", "sap", "chatgpt", "github_copilot",
}  # fmt: skip
"""Providers that sign requests or fetch tokens. They must not get a placeholder key, because they would use it."""

_AWS_FILES = (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config"))
_LOGIN_FILES = {
    **dict.fromkeys(("bedrock", "bedrock_mantle", "sagemaker", "sagemaker_chat", "sagemaker_nova"), _AWS_FILES),
    **dict.fromkeys(("vertex_ai", "vertex_ai_beta"), (("", "~/.config/gcloud/application_default_credentials.json"),)),
    "sap": (("AICORE_CONFIG", "~/.aicore/config.json"),),
}
"""The files in which the provider's own tools store a login: the variable with the place, and the usual place."""


def settings_from(provider: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that the environment sets. litellm searches other places for the rest."""
    names = _SETTINGS.get(provider, {})
    found = {argument: next((env[n] for n in of if env.get(n)), "") for argument, of in names.items()}
    return {argument: value for argument, value in found.items() if value}


def has_login_files(provider: str, env: Mapping[str, str]) -> bool:
    """Return whether a tool of the provider stored a login in the home folder."""
    home = env.get("HOME") or str(Path.home())
    places = (env.get(name) or usual for name, usual in _LOGIN_FILES.get(provider, ()))
    return any(Path(re.sub("^~(?=/)", home, place)).is_file() for place in places)


def usual_variables(provider: str) -> str:
    """Return the variables that the user usually sets, joined by "and" for a message."""
    first = [of[0] for argument, of in _SETTINGS.get(provider, {}).items() if argument in _USUAL]
    return " and ".join(first)


_USUAL = ("aws_access_key_id", "aws_secret_access_key", "vertex_project", "vertex_credentials")
