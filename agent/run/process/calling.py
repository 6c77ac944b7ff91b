"""A command of the person's own that calls them: a mail, a chat, a desktop's notification."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from ...system import path_outside
from ...workspace import shell

SECONDS = 20.0
"""A call that takes longer is ended, with all that it started."""


def call_hook(command: str, *, env: Mapping[str, str], about: Mapping[str, str], workspace: Path) -> None:
    """Starts it and returns at once; what becomes of it is nobody's concern here.

    It runs without a sandbox, so it finds no program in the workspace. `about`: names without their `RUNDRY_`, and
    values that it gets in its environment in addition to the person's own.
    """
    told = {f"RUNDRY_{name.upper()}": value.replace("\0", "") for name, value in about.items()}
    try:
        process = subprocess.Popen(
            shell(command, workspace),
            env={**hook_env(env, workspace), **told},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return  # no shell, no memory: whoever is called is not here to be told
    threading.Thread(target=_see_it_end, args=(process,), name="hook", daemon=True).start()


def hook_env(env: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return the environment of a command of the person that runs without a sandbox."""
    return {**env, "PATH": path_outside(env.get("PATH", os.defpath), [workspace])}


def _see_it_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
