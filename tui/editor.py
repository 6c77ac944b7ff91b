"""A text in the person's own editor, while the run goes on."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from rundry.agent import RundryError, temp_folder


def command_set() -> str | None:
    """The editor that the person set, if any."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR")


def edit_text(app: App[Any], text: str, name: str) -> str | None:
    """The text as the editor left it; None where it was left unchanged. Raises RundryError."""
    command = command_set()
    if not command:
        raise RundryError("no editor is set: set EDITOR, for example `export EDITOR=nano`")
    with temp_folder("edit") as folder:
        path = folder / Path(name).name
        path.write_text(text, encoding="utf-8", newline="")
        path.chmod(0o600)
        try:
            with app.suspend():
                done = subprocess.run([*shlex.split(command), str(path)], check=False)
        except (OSError, ValueError) as error:
            raise RundryError(f"the editor `{command}` cannot be started: {error}") from None
        except SuspendNotSupported:
            raise RundryError("this terminal cannot open an editor") from None
        if done.returncode != 0:
            raise RundryError(f"the editor ended with {done.returncode}: the text was not changed")
        try:
            edited = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise RundryError(f"the edited text cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise RundryError("the edited text is not UTF-8: the text was not changed") from None
    return None if edited == text else edited
