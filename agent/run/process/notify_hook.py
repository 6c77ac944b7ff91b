"""Run the command that notifies the user (`notify`), for example by mail or chat."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.processes.processes import shell
from ...host.program_search import path_outside

if TYPE_CHECKING:
    from ...step.resources.run_context import RunContext

SECONDS = 20.0
"""Seconds after which the command and its child processes are killed."""


def notify_of_end(ctx: RunContext, env: Mapping[str, str]) -> None:
    """Run the user's notification command if a screen began the run and no view is attached at its end."""
    spec, ended = ctx.facts.spec, ctx.facts.ended
    if spec.notify is None or not spec.attended or ended is None or ctx.journal.views.is_attended():
        return
    text = f"rundry ended: {ended.reason.value}"
    about = {"why": "end", "text": text, "run": spec.run_id, "journal": str(ctx.journal.path)}
    start_notify_hook(spec.notify, env=env, about=about, workspace=ctx.workspace.seen)


def start_notify_hook(command: str, *, env: Mapping[str, str], about: Mapping[str, str], workspace: Path) -> None:
    """Start the command and return immediately. Its result is ignored.

    It runs without a sandbox, so programs of the workspace are not on its path. `about`: variables (names without
    `RUNDRY_`) that are added to the user's environment.
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
        return  # there is no view that could show the error
    threading.Thread(target=_wait_or_kill, args=(process,), name="hook", daemon=True).start()


def hook_env(env: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return the environment of a command of the user that runs without a sandbox: no programs of the workspace."""
    return {**env, "PATH": path_outside(env.get("PATH", os.defpath), [workspace])}


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
