"""Locations of the user's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal


def user_folder(kind: Literal["config", "data"], env: Mapping[str, str]) -> Path:
    """Return rundry's folder of this kind: below XDG_CONFIG_HOME or XDG_DATA_HOME, otherwise the system's default."""
    given = env.get(f"XDG_{kind.upper()}_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "rundry"
    import platformdirs  # costs 10 ms

    return Path(platformdirs.user_config_dir("rundry") if kind == "config" else platformdirs.user_data_dir("rundry"))
