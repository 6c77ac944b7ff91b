"""File contents in memory, by their SHA-256."""

from __future__ import annotations

import hashlib


class BlobsInMemory(dict[str, bytes]):
    """Contents by their SHA-256, in memory."""

    def keep(self, data: bytes) -> str:
        sha = hashlib.sha256(data).hexdigest()
        self[sha] = data
        return sha

    def load(self, sha: str) -> bytes:
        return self[sha]
