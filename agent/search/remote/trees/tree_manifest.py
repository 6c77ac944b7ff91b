"""The list of files of a workspace. It names each piece of content by digest, and itself has a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Literal

import msgspec

PIECE = 4_000_000
"""Most bytes of one piece. A longer file has several."""
LARGEST_TREE = 256_000_000
"""Most bytes of all files of a workspace that is sent to workers."""
MOST_FILES = 50_000
"""Most files and links of a workspace that is sent to workers."""


class ManifestEntry(msgspec.Struct, frozen=True, array_like=True):
    """One file or link."""

    path: str
    """Relative to the workspace, separated by `/`. Bytes that are not UTF-8 are lone surrogates."""
    kind: Literal["file", "program", "link"]
    pieces: list[str] = []
    """Digests of the content of a file, in order."""
    target: str = ""
    """Where a link points."""


def digest_of_piece(data: bytes) -> str:
    """Return the SHA-256 of a piece or a manifest in hex."""
    return hashlib.sha256(data).hexdigest()


def encode_manifest(entries: Sequence[ManifestEntry]) -> bytes:
    """Encode entries as ASCII."""
    return json.dumps([msgspec.to_builtins(entry) for entry in entries], separators=(",", ":")).encode()


def decode_manifest(data: bytes) -> list[ManifestEntry]:
    """Return what `encode_manifest` encoded. Raises ValueError for a path that is not below the workspace."""
    entries = msgspec.convert(json.loads(data), list[ManifestEntry])
    for entry in entries:
        if not {"", ".", ".."}.isdisjoint(entry.path.split("/")) or "\0" in entry.path:
            raise ValueError(f"{entry.path!r} is not a path below the workspace")
    return entries
