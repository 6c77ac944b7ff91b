"""Compare the judged files of a run with those in the workspace now.

Results are shown often, so this must be fast: only the size of a large file is compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...journal.encoding import recorded_text
from ...layers.layer_effects import Side, side_at, status_at
from ...layers.open_below import FOLDER

_HASHED = 16 << 20
"""Largest number of bytes of a file that is read."""
_Stored = dict[bytes, tuple[str, int, str, bool]]
"""Path to type, size, digest and execute bit; an empty type: nothing was there."""


def encode_decided(files: Mapping[str, Side | None]) -> bytes:
    """Encode the judged files for the journal. The same files give the same bytes."""
    stored: _Stored = {os.fsencode(path): _stamp(side) for path, side in sorted(files.items())}
    return msgspec.msgpack.encode(stored)


def changed_since(stored: bytes, root: Path) -> list[str]:
    """Return the sorted paths of the files below `root` that differ from the judged ones.

    Raises OSError and ValueError.
    """
    try:
        files = msgspec.msgpack.decode(stored, type=_Stored)
    except msgspec.MsgspecError as error:
        raise ValueError(f"the record of the judged files is damaged: {error}") from error
    folder = os.open(root, FOLDER | os.O_CLOEXEC)
    try:
        return sorted(recorded_text(os.fsdecode(path)) for path, was in files.items() if _differs(folder, path, was))
    finally:
        os.close(folder)


def _stamp(side: Side | None) -> tuple[str, int, str, bool]:
    return ("", 0, "", False) if side is None else (side.type, side.size, side.digest, side.executable)


def _differs(folder: int, path: bytes, was: tuple[str, int, str, bool]) -> bool:
    status = status_at(folder, path)
    reads = status is not None and status.st_size == was[1] <= _HASHED
    seen = None if status is None else side_at(folder, path, hashes=reads, status=status)
    now = _stamp(None if seen is None else seen.side)
    return now != was if reads else (now[:2], now[3]) != (was[:2], was[3])
