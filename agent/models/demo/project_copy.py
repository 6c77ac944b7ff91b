"""Copy the sample project to the folder in which the demo works."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from ...protocol import UserError

MODEL = "demo/till"
CHECK = "python3 -m unittest -q"
TASK = "The tests of this small cash register fail. Make them pass, without changing the tests."

_PROJECT = Path(__file__).with_name("project")


class DemoRun(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of a demo run."""

    workspace: Path
    task: str = TASK
    until: str = CHECK
    model: str = MODEL


def copy_project(target: Path) -> DemoRun:
    """Copy the sample project into a new folder. Raises UserError if the folder already has content."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is not empty: give the demo an empty folder")
    try:
        shutil.copytree(_PROJECT, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    except OSError as e:
        raise UserError(f"the demo project cannot be written to {target}: {e.strerror or e}") from e
    return DemoRun(workspace=target.resolve())
