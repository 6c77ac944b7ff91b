"""Find the files of the workspace that the command of a hook names, and whether they are trusted by content.

A file that the command reaches in another way (a module, an import, a variable) is not found: the user documentation
says to name the script by its path.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..host.plain_files import read_plain
from .trust import Trust

if TYPE_CHECKING:
    from ..protocol import Hook

_LARGEST = 5_000_000
"""Bytes of a script. A larger file is never trusted."""


def with_scripts(
    hooks: Sequence[Hook], workspace: Path, env: Mapping[str, str], notes: list[str], *, trust: bool
) -> list[Hook]:
    """Return the hooks with the digests of their scripts; that of a script that is not trusted is empty.

    `notes`: gets a line about each script that is not trusted. `trust`: treat all as trusted.
    Raises ConfigError for a damaged trust store.
    """
    store = Trust(env=env)
    made: list[Hook] = []
    for hook in hooks:
        digests = {path: script_digest(workspace, path) or "" for path in script_paths(hook.command, workspace)}
        for path, digest in digests.items():
            if not (trust or store.item_is_trusted(workspace, script_item(path), digest)):
                digests[path] = ""
        made.append(msgspec.structs.replace(hook, scripts=digests))
    notes += _untrusted_scripts(made)
    return made


def _untrusted_scripts(hooks: Sequence[Hook]) -> list[str]:
    """Return a line for the person about each script that is not trusted."""
    paths = dict.fromkeys(path for hook in hooks for path, digest in hook.scripts.items() if not digest)
    how = "its hook refuses or does not run until you trust it (--trust: for this call, /trust: from now on)"
    return [f"{path} is the script of a hook and is not trusted as it is now: {how}" for path in paths]


def trust_scripts(hooks: Sequence[Hook], workspace: Path, env: Mapping[str, str]) -> list[str]:
    """Trust the scripts of the hooks as they are now. Returns their paths. Raises ConfigError."""
    paths = {path for hook in hooks for path in script_paths(hook.command, workspace)}
    digests = {path: digest for path in paths if (digest := script_digest(workspace, path)) is not None}
    Trust(env=env).trust_items(workspace, {script_item(path): digest for path, digest in digests.items()})
    return sorted(digests)


def script_paths(command: str, workspace: Path) -> list[str]:
    """Return the regular files of the workspace that a word of the command names, relative to the workspace."""
    root = workspace.resolve()
    try:
        words = shlex.split(command, comments=False, posix=True)
    except ValueError:
        words = command.split()
    found: list[str] = []
    named = (part for word in words for part in (word, word.partition("=")[2]) if part)
    for word in named:
        try:
            path = (root / word).resolve()
            is_file = path.is_relative_to(root) and path.is_file()
        except (OSError, ValueError):
            continue
        if is_file and (name := path.relative_to(root).as_posix()) not in found:
            found.append(name)
    return found


def script_digest(workspace: Path, path: str) -> str | None:
    """Return the SHA-256 of a script, or None if it cannot be read."""
    try:
        return hashlib.sha256(read_plain(workspace / path, _LARGEST)).hexdigest()
    except OSError:
        return None


def script_is_trusted(hook: Hook, path: str, workspace: Path, home: Path) -> bool:
    """Return whether the script is as the person trusted it, at the start or since.

    `workspace`: the folder in which the hook runs. `home`: the folder for which the person gave the trust. Raises
    ConfigError for a damaged trust store.
    """
    digest = script_digest(workspace, path)
    if digest is None:
        return False
    return digest == hook.scripts[path] or Trust().item_is_trusted(home, script_item(path), digest)


def script_item(path: str) -> str:
    """Return the name of a hook's script in the trust store."""
    return f"hook {path}"
