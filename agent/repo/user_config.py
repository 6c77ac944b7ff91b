"""The settings with which rundry runs git: harmless ones from the user's config, and none that would run code."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

CONFIG_READ = r"^(user\.(name|email)|core\.(excludesfile|autocrlf|hookspath)|safe\.directory|(filter|hook)\..*\..*)$"
"""Regular expression of the settings that `read_config` expects, for `git config --get-regexp`."""
SAFE_SETTINGS = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "false"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
)
"""Settings for every git command in the user's repository: no hooks, no network, no maintenance."""
SAFE_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_COPIED = re.compile(r"core\.(excludesfile|autocrlf)|safe\.directory", re.IGNORECASE)
_RUNS_CODE = re.compile(r"filter\..*\.(clean|smudge|process)|hook\..*\.command", re.IGNORECASE | re.DOTALL)
_NEUTRAL = ("rundry", "rundry@localhost")


class UserConfig(msgspec.Struct, frozen=True):
    """The part of the user's git config that rundry uses."""

    settings: Sequence[tuple[str, str]] = ()
    """Settings for git commands, with `SAFE_SETTINGS` at the end."""
    identity: dict[str, str] = {}
    """Variables with the name and the address of the author and the committer."""
    hooks_path: str | None = None
    """`core.hooksPath`, with the home folder in place of `~`."""


def read_config(listed: bytes, home: str | None) -> UserConfig:
    """Parse the output of `git config -z`: copy harmless settings, and switch off those that would run code."""
    pairs = [entry.partition(b"\n") for entry in listed.split(b"\0") if entry]
    known = [(os.fsdecode(key), os.fsdecode(value)) for key, _, value in pairs]
    latest = dict(known)
    settings = [(key, value) for key, value in known if _COPIED.fullmatch(key)]
    for key in latest:
        if _RUNS_CODE.fullmatch(key):
            settings.append((key, "true" if key.startswith("hook.") else ""))
        if key.startswith("filter."):
            settings.append((f"{key.rpartition('.')[0]}.required", "false"))
    name, email = latest.get("user.name") or _NEUTRAL[0], latest.get("user.email") or _NEUTRAL[1]
    identity = {f"GIT_{who}_NAME": name for who in ("AUTHOR", "COMMITTER")} | {
        f"GIT_{who}_EMAIL": email for who in ("AUTHOR", "COMMITTER")
    }
    return UserConfig([*settings, *SAFE_SETTINGS], identity, _at_home(latest.get("core.hookspath"), home))


def settings_env(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that give git these settings (git-config(1), GIT_CONFIG_COUNT)."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for n, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{n}": key, f"GIT_CONFIG_VALUE_{n}": value}
    return env


def _at_home(path: str | None, home: str | None) -> str | None:
    """Expand a path of git's config (git-config(1), pathname)."""
    if path is not None and home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return str(Path(path).expanduser()) if path else None
