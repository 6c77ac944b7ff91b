"""Write files of the past into a checkout, in place of changes that nobody decided on."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...workspace.own_temp import remove_entry

if TYPE_CHECKING:
    from ...layers.judge import Past


def write_past(past: Mapping[str, Past | None], folder: Path) -> None:
    """Let these paths of a checkout be as they were; None: nothing was there. No process runs in it yet.

    Raises OSError.
    """
    for path, was in sorted(past.items()):
        place = folder / path
        if any((folder / above).is_symlink() for above in Path(path).parents):
            raise OSError(errno.ELOOP, "a link is on its way", path)
        if os.path.lexists(place) and not (was is not None and was.type == "folder" and place.is_dir()):
            remove_entry(place)
        if was is None:
            continue
        (place if was.type == "folder" else place.parent).mkdir(parents=True, exist_ok=True)
        if was.type == "link":
            place.symlink_to(os.fsdecode(was.data))
        elif was.type == "file":
            if was.source is not None:
                shutil.copyfile(was.source, place)
            else:
                place.write_bytes(was.data)
            place.chmod(0o755 if was.executable else 0o644)
