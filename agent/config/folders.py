"""Where a person's own files are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal


def user_folder(kind: Literal["config", "data"], env: Mapping[str, str]) -> Path:
    """Rundry's folder for that kind: below XDG_CONFIG_HOME or XDG_DATA_HOME, else where the system has such things."""
    given = env.get(f"XDG_{kind.upper()}_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "rundry"
    import platformdirs  # costs 10 ms

    return Path(platformdirs.user_config_dir("rundry") if kind == "config" else platformdirs.user_data_dir("rundry"))
