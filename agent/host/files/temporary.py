"""Names of the temporary files next to a file that is written."""

from __future__ import annotations

import secrets

_PREFIX, _END = ".rundry-", ".tmp"
TEMPORARY_FILES = f"{_PREFIX}*{_END}"
"""Glob pattern of these names."""


def temporary_name() -> str:
    """Return a new name, which `Ignore` ignores."""
    return f"{_PREFIX}{secrets.token_hex(8)}{_END}"
