"""Decide whether a file may choose what runs and where data goes (docs/requirements.md 11.4).

A file from a folder that the person does not trust chooses no address, host, check, worker, hook, MCP server or
environment variable, and no gate that asks less. Every reader of a file that the command line names asks `FileTrust`.
What chooses nothing is listed (`_HARMLESS`), so a new key needs trust until somebody decides that it is harmless.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import msgspec

from ..protocol import NotTrusted
from .trust import PROJECT_RECIPES, Content, Trust
from .user_folders import user_folder

_HARMLESS = frozenset({
    "kind", "task", "description", "parameters", "concurrency", "retries", "item_steps", "quota", "critic", "any",
    "verify", "tools", "tries", "on_stall", "confirm", "budget", "dry", "refute", "leads",
    "model.context", "model.effort", "gate.on_ask", "lens.name", "lens.prompt", "seed.value",
    "migrate.globs", "migrate.parallel", "worker.timeout",
})  # fmt: skip
"""Keys of spec files that choose nothing by themselves. A name of a table stands for all its keys."""
_HARMLESS_VALUES = {
    "model.name": re.compile(r"(?!arn:)[\w.@+-]+([/:](?!arn:)[\w.@+-]+)*", re.ASCII),
    "lens.model": re.compile(r"(?!arn:)[\w.@+-]+([/:](?!arn:)[\w.@+-]+)*", re.ASCII),
    "seed.kind": re.compile("file|value"),
    "gate.mode": re.compile("read|ask"),
}
"""Values of other keys that choose nothing: the name of a model without an address or an account in it."""
_MOST_NAMED = 4


def choices_of(file: msgspec.Struct) -> list[str]:
    """Return the keys of a read file that choose something, as a person writes them: `until`, `[model] api_base`."""
    found = (_shown(path) for path, value in _given(file) if not _is_harmless(path, value))
    return list(dict.fromkeys(found))


class FileTrust(msgspec.Struct, frozen=True, kw_only=True):
    """Whether what a file chooses may be used."""

    is_own: bool
    """It is in the user's config folder, or in a folder that the user's config names."""
    is_trusted: bool
    """The person trusts it as it is now, or for this call."""

    def require(self, path: Path, chosen: list[str]) -> None:
        """Raise NotTrusted for a file that chooses something and may not. `chosen`: from `choices_of()`."""
        if not chosen or self.is_own or self.is_trusted:
            return
        more = len(chosen) - _MOST_NAMED
        keys = ", ".join(chosen[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        raise NotTrusted(f"{path} is not trusted, so it cannot set {keys}: read it, then use")


def file_trust(path: Path, data: bytes, env: Mapping[str, str], *, trust: bool) -> FileTrust:
    """Return the trust in a file with this content. `trust`: `--trust` was given. Raises ConfigError.

    A link has the trust of the file that it leads to.
    """
    real = path.resolve()
    config = user_folder("config", env)
    is_own = any(place.is_relative_to(config) for place in (path.absolute(), real)) or real.is_relative_to(
        config.resolve()
    )
    return FileTrust(is_own=is_own, is_trusted=trust or _is_trusted_by_content(real, data, env))


def is_own_journal(path: Path, folder: Path) -> bool:
    """Return whether the journal is in the folder of journals, also through links."""
    return path.resolve().is_relative_to(folder.resolve())


def require_own_journal(path: Path, folder: Path, *, trust: bool) -> None:
    """Raise NotTrusted for a journal outside of the folder of journals, unless `--trust` was given.

    A journal chooses everything about its run: the workspace, checks, hooks, the model's address, rules of the gate.
    """
    if not (trust or is_own_journal(path, folder)):
        raise NotTrusted(
            f"{path} is not in your folder of journals {folder}, and it chooses checks, addresses and what needs no "
            "approval: if you trust it, use"
        )


def _is_trusted_by_content(real: Path, data: bytes, env: Mapping[str, str]) -> bool:
    store = Trust(env=env)
    if store.file_is_trusted(real, hashlib.sha256(data).hexdigest()):
        return True
    if not real.parent.as_posix().endswith(f"/{PROJECT_RECIPES}"):
        return False
    workspace = real.parents[len(Path(PROJECT_RECIPES).parts)]
    content = Content(workspace)
    return content.files.get(f"{PROJECT_RECIPES}/{real.name}") == data and store.trusted(workspace, content)


def _given(table: msgspec.Struct, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield path and value of each key whose value is not the default. Tables in lists have the path of their list."""
    for field in msgspec.structs.fields(table):
        value: object = getattr(table, field.name)
        if field.default is not msgspec.NODEFAULT and value == field.default:
            continue
        if field.default_factory is not msgspec.NODEFAULT and value == field.default_factory():
            continue
        path = (*above, field.encode_name)
        if isinstance(value, msgspec.Struct):
            yield from _given(value, path)
            continue
        members = cast("list[object]", value) if isinstance(value, list) else []
        tables = [one for one in members if isinstance(one, msgspec.Struct)]
        for one in tables:
            yield from _given(one, path)
        if not tables:
            yield path, value


def _is_harmless(path: tuple[str, ...], value: object) -> bool:
    key = ".".join(path)
    if key in _HARMLESS or path[0] in _HARMLESS:
        return True
    if key == "model.params" and isinstance(value, dict):
        return all(isinstance(one, bool | int | float) for one in cast("dict[str, object]", value).values())
    return key in _HARMLESS_VALUES and _HARMLESS_VALUES[key].fullmatch(str(value)) is not None


def _shown(path: tuple[str, ...]) -> str:
    return path[0] if len(path) == 1 else f"[{path[0]}] {'.'.join(path[1:])}"
