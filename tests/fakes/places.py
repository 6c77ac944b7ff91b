"""Places on this machine that tests need."""

from __future__ import annotations

from pathlib import Path

_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/run"))


def lasting(root: Path) -> Path:
    """A folder that a sandbox shows as it is: the checkout, or, where that lies in a temp folder, the home."""
    real = root.resolve()
    return Path.home() if any(real.is_relative_to(folder) for folder in _TEMPORARY) else real
