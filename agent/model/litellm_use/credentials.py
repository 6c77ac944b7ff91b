"""Whether what litellm needs for a provider is set up. Only what litellm itself refuses is refused."""

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
from ..traits import TRAITS
from .needs import CLOUD, KEYED, LOGINS, NEEDS, PACKAGES, SERVED, Groups

_SECONDS = 30.0
"""For litellm to load and to say what it needs. It counts as allowed after that: the first call will tell."""
_MOST = 4
"""Variables of one group that a message names."""


class Verdict(msgspec.Struct, frozen=True):
    """What a dry run found."""

    refused: str | None
    """litellm's own sentence; None: nothing that is about credentials."""
    reached: bool = False
    """A connection was wanted."""


def lacking(provider: str, env: Mapping[str, str]) -> Groups:
    """The groups of variables of which none is set; empty for a provider that is not known here."""
    groups = NEEDS.get(provider, ())
    return tuple(group for group in groups if not any(env.get(name, "").strip() for name in group))


def missing_line(provider: str, lacks: Groups, *, said: str = "") -> str:
    """`no key for gemini: set GEMINI_API_KEY or GOOGLE_API_KEY`; `said` is litellm's own sentence."""
    names = ", and ".join(" or ".join(group[:_MOST]) for group in lacks)
    what = "no key" if _is_keyed(lacks) else "no address" if all(map(_is_address, lacks)) else "no credentials"
    why = f" (litellm: {said})" if said else ""
    return f"{what} for {provider}: set {names}{why}"


def login_file(provider: str, env: Mapping[str, str]) -> Path | None:
    """Where litellm keeps the token of a provider that needs a login."""
    if provider not in LOGINS:
        return None
    folder_name, folder, file_name, file = LOGINS[provider]
    home = Path(env.get("HOME") or Path.home())
    place = Path(env.get(folder_name) or folder.replace("~", str(home), 1))
    return place / env.get(file_name, file)


def refuse_missing_key(spec: ModelSpec, env: Mapping[str, str]) -> None:
    """Raises Refusal where the name and the environment alone say that no call can be made. Takes no time."""
    found = split_name(spec.name, has_base=spec.api_base is not None, providers={*TRAITS, *KEYED})
    if found is None or spec.api_base is not None:
        return
    at = resolve(spec, *found, env)
    if at.lacks_key and at.provider in TRAITS:
        raise Refusal(missing_key(at))
    if at.provider in KEYED and spec.key_from is None and (lacks := lacking(at.provider, env)):
        raise Refusal(missing_line(at.provider, lacks))


def missing_key(at: Endpoint) -> str:
    """The line that says which variable would hold the key."""
    names = " or ".join(at.key_names) or "the provider's key"
    return f"no key for {at.provider}: set {names}, or name a local server with --api-base"


async def check_credentials(spec: ModelSpec, provider: str, env: Mapping[str, str]) -> None:
    """Raises Refusal where litellm could not make a call. Loads litellm in a process of its own, if at all."""
    if provider in TRAITS or spec.key_from is not None:
        return
    token = login_file(provider, env)
    if token is not None and not token.is_file():
        raise Refusal(f"{provider} needs a login: litellm keeps its token in {token}, which does not exist")
    _require_package(provider)
    lacks = lacking(provider, env)
    if not lacks or (spec.api_base is not None and not asks_litellm(provider)):
        return
    if not asks_litellm(provider):
        raise Refusal(missing_line(provider, lacks))
    verdict = await dry_run(spec, env)
    if verdict.refused is not None:
        raise Refusal(missing_line(provider, lacks, said=verdict.refused))


def asks_litellm(provider: str) -> bool:
    """Files, roles and addresses count besides variables, so that only litellm knows what is missing."""
    return provider in CLOUD or provider in SERVED


async def dry_run(spec: ModelSpec, env: Mapping[str, str]) -> Verdict:
    """Let litellm prepare a call in a process without a network, up to its first connection."""
    clean = {k: v for k, v in env.items() if not k.startswith("PYTHON")}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "rundry.agent.model.litellm_use.dry_run",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=clean, cwd="/",
    )  # fmt: skip
    try:
        async with asyncio.timeout(_SECONDS):
            out, _ = await child.communicate(msgspec.json.encode(spec))
        return msgspec.json.decode(out, type=Verdict)
    except (TimeoutError, msgspec.DecodeError):
        return Verdict(None)
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
    except ModuleNotFoundError:  # of a parent
        found = False
    if not found:
        raise Refusal(
            f"litellm needs the Python package {package} for {provider}: install it where rundry is installed"
        )


def secret_names() -> set[str]:
    """Variables that may hold a key or lead to one."""
    return {name for groups in NEEDS.values() for group in groups for name in group if not _is_place(name)}


def _is_place(name: str) -> bool:
    return name.endswith(("_API_BASE", "_URL", "_ACCOUNT_ID"))


def _is_address(group: Collection[str]) -> bool:
    return all(_is_place(name) for name in group)


def _is_keyed(lacks: Groups) -> bool:
    return all(name.endswith(("_KEY", "_APIKEY", "_TOKEN")) or _is_place(name) for g in lacks for name in g) and any(
        not _is_address(g) for g in lacks
    )
