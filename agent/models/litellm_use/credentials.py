"""Check the credentials that litellm needs for a provider. A model is refused only if litellm would refuse it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ...protocol import ModelSpec, Refusal
from ..endpoint import Endpoint, resolve, split_name
from ..provider_traits import TRAITS
from .needed_variables import CLOUD, KEYED, LOGINS, NEEDS, PACKAGES, SERVED, Groups

_SECONDS = 30.0
"""Seconds for litellm's dry run. After this time the model is allowed; the first call then reports a missing key."""
_MOST = 4
"""Most variables of one group that a message names."""


class DryRunResult(msgspec.Struct, frozen=True):
    """Result of a dry run of litellm."""

    refused: str | None
    """litellm's message about missing credentials; None if there is none."""
    reached: bool = False
    """Whether litellm tried to connect."""


def unset_groups(provider: str, env: Mapping[str, str]) -> Groups:
    """Return the groups of variables of which none is set; empty for a provider without a row in `NEEDS`."""
    groups = NEEDS.get(provider, ())
    return tuple(group for group in groups if not any(env.get(name, "").strip() for name in group))


def missing_line(provider: str, lacks: Groups, *, said: str = "") -> str:
    """Write the message, such as `no key for gemini: set GEMINI_API_KEY`. `said` is litellm's own sentence."""
    names = ", and ".join(" or ".join(group[:_MOST]) for group in lacks)
    what = "no key" if _is_keyed(lacks) else "no address" if all(map(_is_address, lacks)) else "no credentials"
    why = f" (litellm: {said})" if said else ""
    return f"{what} for {provider}: set {names}{why}"


def login_file(provider: str, env: Mapping[str, str]) -> Path | None:
    """Return the file in which litellm stores the provider's login token; None for a provider without a login."""
    if provider not in LOGINS:
        return None
    folder_name, folder, file_name, file = LOGINS[provider]
    home = Path(env.get("HOME") or Path.home())
    place = Path(env.get(folder_name) or folder.replace("~", str(home), 1))
    return place / env.get(file_name, file)


def refuse_missing_key(spec: ModelSpec, env: Mapping[str, str]) -> None:
    """Raise Refusal if name and environment already show that a call is impossible. Does not start litellm."""
    found = split_name(spec.name, has_base=spec.api_base is not None, providers={*TRAITS, *KEYED})
    if found is None or spec.api_base is not None:
        return
    at = resolve(spec, *found, env)
    if at.lacks_key and at.provider in TRAITS:
        raise Refusal(missing_key(at))
    if at.provider in KEYED and spec.key_from is None and (lacks := unset_groups(at.provider, env)):
        raise Refusal(missing_line(at.provider, lacks))


def missing_key(at: Endpoint) -> str:
    """Write the message that names the variables for the missing key."""
    names = " or ".join(at.key_names) or "the provider's key"
    return f"no key for {at.provider}: set {names}, or give a local server with --api-base"


async def check_credentials(spec: ModelSpec, provider: str, env: Mapping[str, str]) -> None:
    """Raise Refusal if litellm could not make a call. If litellm is needed, a separate process imports it."""
    if provider in TRAITS or spec.key_from is not None:
        return
    token = login_file(provider, env)
    if token is not None and not token.is_file():
        raise Refusal(
            f"{provider} needs a login, but litellm's token file {token} does not exist: log in with litellm first"
        )
    _require_package(provider)
    lacks = unset_groups(provider, env)
    if not lacks or (spec.api_base is not None and not needs_dry_run(provider)):
        return
    if not needs_dry_run(provider):
        raise Refusal(missing_line(provider, lacks))
    result = await dry_run(spec, env)
    if result.refused is not None:
        raise Refusal(missing_line(provider, lacks, said=result.refused))


def needs_dry_run(provider: str) -> bool:
    """Return whether only litellm can find what is missing: files, roles or addresses may replace the variables."""
    return provider in CLOUD or provider in SERVED


def is_unlisted(provider: str) -> bool:
    """Return whether nothing here says what the provider needs, so only litellm knows whether it has chat models."""
    return not any(provider in table for table in (TRAITS, NEEDS, LOGINS, PACKAGES))


async def dry_run(spec: ModelSpec, env: Mapping[str, str]) -> DryRunResult:
    """Let litellm prepare a call in a process without network, up to its first connection."""
    clean = {k: v for k, v in env.items() if not k.startswith("PYTHON")}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "rundry.agent.models.litellm_use.dry_run",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=clean, cwd="/",
    )  # fmt: skip
    try:
        async with asyncio.timeout(_SECONDS):
            out, _ = await child.communicate(msgspec.json.encode(spec))
        return msgspec.json.decode(out, type=DryRunResult)
    except (TimeoutError, msgspec.DecodeError):
        return DryRunResult(None)
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def _require_package(provider: str) -> None:
    module, package = PACKAGES.get(provider, ("", ""))
    if not module:
        return
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        found = False
    if not found:
        raise Refusal(
            f"litellm needs the Python package {package} for {provider}: install it where rundry is installed"
        )


def secret_names() -> set[str]:
    """Return the variables that may hold a key or the location of one."""
    return {name for groups in NEEDS.values() for group in groups for name in group if not _is_location(name)}


def _is_location(name: str) -> bool:
    return name.endswith(("_API_BASE", "_URL", "_ACCOUNT_ID"))


def _is_address(group: Collection[str]) -> bool:
    return all(_is_location(name) for name in group)


def _is_keyed(lacks: Groups) -> bool:
    return all(name.endswith(("_KEY", "_APIKEY", "_TOKEN")) or _is_location(name) for g in lacks for name in g) and any(
        not _is_address(g) for g in lacks
    )
