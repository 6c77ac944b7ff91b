"""Optional packages (extras in `pyproject.toml`): how to install one that is missing."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec


def missing_extra(extra: str, *modules: str) -> str | None:
    """Return how to install the extra if one of its modules is missing, as the end of a message; else None.

    rundry is installed from its folder, so the command names the packages, for the Python that runs now.
    """
    if all(find_spec(module) is not None for module in modules):
        return None
    packages = " ".join(shlex.quote(package) for package in _packages(extra))
    if find_spec("pip") is None:  # an environment that uv made
        return f"install its packages with: uv pip install --python {shlex.quote(sys.executable)} {packages}"
    return f"install its packages with: {shlex.quote(sys.executable)} -m pip install {packages}"


def mcp_sdk_missing() -> str | None:
    """Return how to install the MCP SDK if it is missing, as the end of a message. Its version 2 has `mcp_types`."""
    return missing_extra("mcp", "mcp", "mcp_types")


def _packages(extra: str) -> list[str]:
    try:
        lines = requires("rundry") or []
    except PackageNotFoundError:
        lines = []
    named = [line.partition(";") for line in lines]
    found = [package.strip() for package, _, marker in named if f"extra == '{extra}'" in marker.replace('"', "'")]
    return found or [f"rundry[{extra}]"]
