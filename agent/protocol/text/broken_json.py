"""Exceptions that `msgspec.json.decode` raises for input that is not JSON, not UTF-8, or nested too deeply."""

from __future__ import annotations

import msgspec

BROKEN_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
