"""Print values of `--json` so that a terminal can show them as well."""

from __future__ import annotations

import sys

import msgspec

from rundry.agent import UserError, visible_json


def print_json(value: object) -> None:
    """Print one line of JSON. Raises UserError."""
    try:
        data = msgspec.json.encode(value)
    except TypeError as error:
        raise UserError(f"cannot be written as JSON: {error}") from None
    sys.stdout.buffer.write(visible_json(data) + b"\n")
