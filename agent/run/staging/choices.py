"""Keep what a person chose in a review of a stage, so that a later review begins with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import EntryChoice

if TYPE_CHECKING:
    from ...protocol import EffectEntry

_NAME = "choices"


def keep_choices(folder: Path, entries: Sequence[EffectEntry], choices: Mapping[int, EntryChoice]) -> None:
    """Store the choices next to the stage, by the digest of their entry. `choices`: by index. Raises OSError."""
    kept = {_digest(entries[at]): choice for at, choice in choices.items()}
    new = folder / f"{_NAME}-new"
    new.write_bytes(msgspec.json.encode(kept))
    new.replace(folder / _NAME)


def kept_choices(folder: Path, entries: Sequence[EffectEntry]) -> dict[int, EntryChoice]:
    """Return the stored choices for entries that are as they were then, by index. Raises OSError."""
    try:
        kept = msgspec.json.decode((folder / _NAME).read_bytes(), type=dict[str, EntryChoice])
    except (FileNotFoundError, msgspec.MsgspecError):  # of another version: the person chooses again
        return {}
    digests = {at: _digest(entry) for at, entry in enumerate(entries)}
    return {at: kept[digest] for at, digest in digests.items() if digest in kept}


def _digest(entry: EffectEntry) -> str:
    return hashlib.sha256(msgspec.json.encode(entry)).hexdigest()
