"""Edit a text in the user's own editor while the run continues."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from rundry.agent import RundryError, temp_folder

_PLUS = frozenset(
    {"vi", "vim", "nvim", "nano", "pico", "emacs", "emacsclient", "ed", "joe", "kak", "mg", "micro", "ne"}
)
"""Editors that accept a line number as `+LINE`."""
_PLACE_IN_PATH = frozenset({"hx", "helix", "subl", "zed"})
_GOTO = frozenset({"code", "codium", "cursor"})


def command_set() -> str | None:
    """Return the command of the user's editor, or None if the environment names none."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR")


def editor_command() -> str | None:
    """Return the command of the user's editor, else `vi` if it is installed, else None."""
    return command_set() or ("vi" if shutil.which("vi") else None)


def edit_text(app: App[Any], text: str, name: str) -> str | None:
    """Return the text as the editor left it, or None if it was not changed. Raises RundryError."""
    command = _required()
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise RundryError(
            "the text has a file name that is not UTF-8: take it out before you open the editor"
        ) from None
    with temp_folder("edit") as folder:
        path = folder / Path(name).name
        path.write_bytes(data)
        path.chmod(0o600)
        if (code := _run(app, command, [str(path)])) != 0:
            raise RundryError(f"the editor ended with {code}: the text was not changed")
        try:
            edited = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise RundryError(f"the edited text cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise RundryError("the edited text is not UTF-8: the text was not changed") from None
    return None if edited == text else edited


def open_file(app: App[Any], path: Path, line: int) -> None:
    """Open a file of the workspace at a line in the user's editor, and return when it ends. Raises RundryError."""
    command = _required()
    name = Path(shlex.split(command)[0]).name if command.strip() else ""
    if name in _PLACE_IN_PATH:
        place = [f"{path}:{line}"]
    elif name in _GOTO:
        place = ["--goto", f"{path}:{line}"]
    else:
        place = [f"+{line}", str(path)] if name in _PLUS else [str(path)]
    if (code := _run(app, command, place)) != 0:
        raise RundryError(f"the editor ended with {code}")


def _required() -> str:
    if not (command := editor_command()):
        raise RundryError("there is no editor: set EDITOR, for example `export EDITOR=nano`, or install vi")
    return command


def _run(app: App[Any], command: str, arguments: list[str]) -> int:
    """Run the editor in the terminal, and return its exit code. Raises RundryError."""
    try:
        with app.suspend():
            return subprocess.run([*shlex.split(command), *arguments], check=False).returncode
    except (OSError, ValueError) as error:
        raise RundryError(f"the editor `{command}` cannot be started: {error}") from None
    except SuspendNotSupported:
        raise RundryError("this terminal cannot open an editor") from None
