"""A hook: a command of the user or of a project that runs on an event of a run. It can refuse, and never approves."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

HookPoint = Literal["run-start", "before-message", "before-tool", "after-edit", "run-end"]
"""When a hook runs."""
HOOK_POINTS: tuple[HookPoint, ...] = get_args(HookPoint)
HOOK_VERSION = 1
"""Version of the JSON that a hook gets on standard input. Fields are added, never renamed or removed."""
REFUSES = 2
"""Exit code with which a hook refuses."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One hook of the config."""

    on: HookPoint
    command: str
    tool: list[str] = []
    """Names of the tools whose calls it gets. Empty means all tools."""
    path: list[str] = []
    """Globs for the file that a call is about. Empty means all calls. A call without a path matches any glob."""
    timeout: float = 10.0
    """Seconds."""
    scripts: dict[str, str] = {}
    """Files of the workspace that the command names, with the SHA-256 that the person trusted; empty text: none yet."""
