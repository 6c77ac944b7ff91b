"""Replace a file of the user's git folder atomically. If rundry is killed, resuming the run removes temporary files."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ....system.crash import crash_point

if TYPE_CHECKING:
    from ...leftovers.record import Leftovers


def replace_file(place: Path, data: bytes, leftovers: Leftovers) -> None:
    """Replace the file without git's lock. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f"{place.name}.{secrets.token_hex(4)}.lock")
    with leftovers.recorded(place, temporary.name, "made"):
        try:
            temporary.write_bytes(data)
            crash_point("import: written next to it")
            temporary.replace(place)
            crash_point("import: file replaced")
        finally:
            temporary.unlink(missing_ok=True)
