"""Before there is a run: the first screen, the pickers, help and the palette."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from fakes.providers.surveys import FOUND
from fakes.screens import PlayedStart, Stage

from rundry.agent import RunLine

from .scene import staged


def _unfinished() -> RunLine:
    """A run that began seven minutes ago."""
    return RunLine(
        run_id="20261121-014233-k3f9x",
        path="/nowhere/20261121-014233-k3f9x.db",
        state="interrupted",
        task="fix the parser",
        started=time.time() - 420,
    )


class _Offering(PlayedStart):
    found = FOUND

    async def unfinished(self) -> Sequence[RunLine]:
        return (_unfinished(),)


def _offered(folder: Path) -> Stage:
    (folder / "pyproject.toml").touch()
    return Stage(start=_Offering(folder, model=None))


def _nothing_found(folder: Path) -> Stage:
    return Stage(start=PlayedStart(folder, model=None))


SCENES = {
    "first": staged(_offered, "claude-sonnet-5"),
    "first-nothing-found": staged(_nothing_found, "demo"),
    "models": staged(_offered, "claude-sonnet-5", "f7", then="anthropic/claude-old"),
    "sessions-empty": staged(_offered, "claude-sonnet-5", "f3"),
    "help": staged(_offered, "claude-sonnet-5", "f1", then="Show keys"),
    "palette": staged(_offered, "claude-sonnet-5", "ctrl+p", then="Show keys"),
    "no-such-command": staged(_offered, "claude-sonnet-5", *"/nothing", "enter", then="no such command"),
}
