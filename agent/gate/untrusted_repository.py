"""Detect whether git would run code of the repository when started in this folder (docs/attacks.md A.6)."""

from __future__ import annotations

import os
from pathlib import Path

from ..host.plain_files import read_plain
from ..repo.setting_lines import is_harmless, setting_lines


def runs_code(folder: Path) -> str | None:
    """Return what else git would run, for a person.

    Returns None if there is nothing. Only reads files, does not start git.
    """
    home = _git_folder(folder)
    if home is None:
        return None
    if isinstance(home, str):
        return home
    for config in (home / "config", home / "config.worktree", _common(home) / "config"):
        why = _judge_config(config)
        if why is not None:
            return why
    hooks = _common(home) / "hooks"
    try:
        names = sorted(entry.name for entry in hooks.iterdir() if not entry.name.endswith(".sample"))
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{hooks} cannot be read: {error.strerror}"
    return f"the repository has the hook `{names[0]}`" if names else None


def _git_folder(folder: Path) -> Path | str | None:
    for above in (folder, *folder.parents):
        entry = above / ".git"
        try:
            if entry.is_dir():
                return entry
            if os.path.lexists(entry):
                text = read_plain(entry).decode().strip()
                return above / text.removeprefix("gitdir:").strip()
        except (OSError, UnicodeDecodeError) as error:
            return f"{entry} cannot be read: {error}"
        if (above / "HEAD").is_file() and (above / "objects").is_dir():
            return "the folder itself is a bare repository"
    return None


def _common(home: Path) -> Path:
    try:
        return home / read_plain(home / "commondir").decode().strip()
    except (OSError, UnicodeDecodeError):
        return home


def _judge_config(config: Path) -> str | None:
    try:
        text = read_plain(config).decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        return f"the repository's config cannot be read: {error}"
    for key, line in setting_lines(text):
        if key is None or not is_harmless(key, line.partition("=")[2]) or line.endswith("\\"):
            return f"the repository's config sets `{key or line}`, which can run code"
    return None
