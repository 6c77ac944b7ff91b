"""Parse the values of the tables `[sandbox]` and `[layers]`."""

from __future__ import annotations

import re
from pathlib import Path

from ..protocol import UserError
from ..system.hosts import read_host

_VARIABLE = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z_*][A-Za-z0-9_*]*", re.ASCII)


def read_variable(value: object, now: float) -> str:
    """Parse the name of a variable, in which `*` matches any characters. Raises UserError."""
    del now
    if isinstance(value, str) and _VARIABLE.fullmatch(value.strip()):
        return value.strip()
    raise UserError(f'{value!r} is not the name of a variable: write a name or a pattern, such as "MYAPP_*"')


def read_sandbox_host(value: object, now: float) -> str:
    """Parse a host that commands may reach. Raises UserError."""
    del now
    try:
        return read_host(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        raise UserError(str(error)) from None


def read_path(value: object, now: float) -> str:
    """Parse an absolute path, or one that begins with `~`. Raises UserError."""
    del now
    text = value.strip() if isinstance(value, str) else ""
    if text.isprintable() and (text == "~" or text.startswith("~/") or (Path(text).is_absolute() and text != "/")):
        return text
    raise UserError(f'{value!r} is not a path of this machine: write it like "~/.secrets" or "/etc/keys"')


def read_folder(value: object, now: float) -> str:
    """Parse a folder inside the workspace, relative to it. Raises UserError."""
    del now
    text = value.strip() if isinstance(value, str) else ""
    parts = Path(text).parts
    if text.isprintable() and parts and not Path(text).is_absolute() and not {"..", "~", ".git"} & {*parts}:
        return Path(text).as_posix()
    raise UserError(f'{value!r} is not a folder in the workspace: write it relative to the workspace, like "var/cache"')
