"""Name, place and delete runs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from glob import escape
from pathlib import Path

from ...journal.claim import claim
from ...layers.removing import remove_tree
from ...protocol import RunHeld, UserError
from ...settings.user_folders import user_folder

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_run_id(now: float) -> str:
    """Return a new id such as `20261121-014233-k3f9x` (UTC). Ids sort by `now`, also within a second."""
    part = int(now % 1 * 36**2)
    noise = int.from_bytes(os.urandom(4)) % 36**3
    letters = (part // 36, part % 36, noise // 36**2, noise // 36 % 36, noise % 36)
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(now)) + "".join(_LETTERS[n] for n in letters)


def runs_dir(explicit: str | None, env: Mapping[str, str]) -> Path:
    """Return the folder of all journals: `explicit`, RUNDRY_RUNS_DIR, or the user's folder for application state."""
    given = explicit or env.get("RUNDRY_RUNS_DIR")
    if given:
        return Path(given).expanduser().absolute()
    return user_folder("state", env) / "runs"


def journal_path(folder: Path, run_id: str) -> Path:
    """Return the path of the run's journal."""
    return folder / f"{run_id}.db"


def delete_run(path: Path) -> None:
    """Delete the journal of a run that no process holds, with all files of the run in its folder.

    Raises UserError if the run is in use or its files cannot be removed.
    """
    try:
        with claim(path):
            beside = [each for each in path.parent.glob(f"{escape(path.name)}?*") if each.is_file()]
            path.unlink()
            for each in beside:
                each.unlink(missing_ok=True)
            shutil.rmtree(path.with_suffix(".snapshots"), ignore_errors=True)
            with suppress(FileNotFoundError):
                remove_tree(path.with_suffix(".setup"))
    except RunHeld as error:
        raise UserError(f"the run {path.stem} is in use: stop it first ({error})") from error
    except OSError as error:
        raise UserError(f"the run {path.stem} cannot be deleted: {error.strerror}") from error
