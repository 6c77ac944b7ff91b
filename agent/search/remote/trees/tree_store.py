"""Pieces of files that a worker process received, in a temporary folder of its own."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from ....host.own_temp import own_temp
from .tree_manifest import LARGEST_TREE, ManifestEntry, decode_manifest, digest_of_piece

CAPACITY = 2 * LARGEST_TREE
"""Most bytes of all pieces. Those that were not used for the longest time are removed first."""


class Missing(Exception):
    """The store lacks a piece that it had before."""


class PieceStore:
    """Keeps pieces by digest. What does not have the digest that it is named by is refused."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._folder = own_temp(self)
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """Each piece, the one that was used last at the end."""
        self._total = 0
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """The folder of this process for pieces and copies of workspaces."""
        return self._folder

    def put(self, digest: str, data: bytes) -> None:
        """Store a piece. Raises ValueError if it does not have this digest, and OSError."""
        if digest_of_piece(data) != digest:
            raise ValueError(f"the piece {digest[:12]} arrived damaged: its content has another digest")
        with self._lock:
            if digest in self._sizes:
                self._sizes.move_to_end(digest)
                return
            (self._folder / digest).write_bytes(data)
            self._sizes[digest] = len(data)
            self._total += len(data)
            while self._total > self._capacity and len(self._sizes) > 1:
                old, size = self._sizes.popitem(last=False)
                self._total -= size
                (self._folder / old).unlink(missing_ok=True)

    def get(self, digest: str) -> bytes:
        """Return a piece. Raises Missing."""
        with self._lock:
            if digest not in self._sizes:
                raise Missing(f"the piece {digest[:12]} was removed meanwhile")
            self._sizes.move_to_end(digest)
            return (self._folder / digest).read_bytes()

    def lacking(self, digests: Sequence[str]) -> list[str]:
        """Return which of these pieces the store lacks, each once. The others count as used now."""
        with self._lock:
            for digest in digests:
                if digest in self._sizes:
                    self._sizes.move_to_end(digest)
            return list(dict.fromkeys(digest for digest in digests if digest not in self._sizes))

    def needs(self, tree: str) -> list[str]:
        """Return what must be sent before this tree can be used: first its manifest, then pieces of its files."""
        if lacking := self.lacking([tree]):
            return lacking
        return self.lacking([piece for entry in self.entries(tree) for piece in entry.pieces])

    def entries(self, tree: str) -> list[ManifestEntry]:
        """Return the files of a tree. Raises Missing, and ValueError for a bad path."""
        return decode_manifest(self.get(tree))
