"""Choose the environment variables of a run's commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ...models.key_rule import KEY_NAMES
from ...models.litellm_use.credentials import secret_names
from ...sandbox.command_environment import command_env, omitted_variables

if TYPE_CHECKING:
    from ...protocol import GatePolicy, ModelSpec, WebSearchSpec

HasKey: TypeAlias = "ModelSpec | WebSearchSpec | None"
"""A model, or the provider of a web search, with the variable of its key."""


def commands_env(env: Mapping[str, str], gate: GatePolicy, *servers: HasKey) -> dict[str, str]:
    """Return the environment for the commands of a run that uses these servers, without the keys of providers."""
    return command_env(env, provider_key_names=key_names(*servers), more=gate.sandbox.env)


def variables_left_out(env: Mapping[str, str], more: Sequence[str]) -> list[str]:
    """Return the names of the user's variables that commands do not receive, besides the keys of providers."""
    return omitted_variables(env, provider_key_names=key_names(), more=more)


def key_names(*servers: HasKey) -> set[str]:
    """Return the names of the variables that hold keys of providers, also of these."""
    known = {name for names in KEY_NAMES.values() for name in names}
    return known | secret_names() | {one.key_from for one in servers if one is not None and one.key_from}
