"""The type of litellm's untyped objects."""

from __future__ import annotations

from typing import Any, TypeAlias

Untyped: TypeAlias = Any
"""An object of litellm or of a library under it. Only the modules that read it use this type."""
