"""Print values of `--json` so that a terminal can show them as well."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from rundry.agent import UserError, visible_json


def print_json(value: object) -> None:
    """Print one line of JSON, paths as text. Raises UserError."""
    try:
        data = msgspec.json.encode(value, enc_hook=_text)
    except TypeError as error:
        raise UserError(f"cannot be written as JSON: {error}") from None
    sys.stdout.buffer.write(visible_json(data) + b"\n")


def _text(value: object) -> str:
    if isinstance(value, Path):
        return os.fsencode(value).decode(errors="backslashreplace")
    raise TypeError(f"objects of type {type(value).__name__} are unsupported")
