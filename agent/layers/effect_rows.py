"""Rows: what becomes of each path, and how rows are stored."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from .git.git_rows import GitChanges
from .layer_effects import Side

_Line = tuple[bytes, Side | None, Side | None]
"""A row; its path as bytes, because a text cannot hold each name."""


class EffectRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One path, as it was and as it should be. None stands for a path where nothing is.

    A file gets the time of `after`; if that is 0, it keeps the time at which it is written.
    """

    path: str
    before: Side | None
    after: Side | None

    @property
    def inverse(self) -> EffectRow:
        """The row that takes this one back."""
        return EffectRow(path=self.path, before=self.after, after=self.before)


def new_name() -> str:
    """Return a new name for an order."""
    return secrets.token_hex(8)


def encode_rows(rows: Sequence[EffectRow]) -> bytes:
    """Encode rows for a file or a journal."""
    return msgspec.msgpack.encode([(os.fsencode(row.path), row.before, row.after) for row in rows])


def encode_for_digest(rows: Sequence[EffectRow]) -> bytes:
    """Encode rows for a digest: what a file will contain, but not where its bytes lie, unless nobody read them.

    What is written in a copy is written down again at each listing.
    """
    return encode_rows([replace(row, after=_anywhere(row.after)) for row in rows])


def _anywhere(side: Side | None) -> Side | None:
    if side is None or (side.type == "file" and not side.digest):
        return side
    return replace(side, inode=0, ctime_ns=0)


def decode_rows(data: bytes) -> list[EffectRow]:
    """Return the rows of `encode_rows`."""
    lines = msgspec.msgpack.decode(data, type=list[_Line])
    return [EffectRow(path=os.fsdecode(path), before=before, after=after) for path, before, after in lines]


def encode_git(repositories: Sequence[GitChanges]) -> bytes:
    """Encode what repositories gain for a journal: the rows, without new objects and lines of reflogs."""
    bare = [replace(one, logs={}, not_taken=(), pack=b"", large=b"") for one in repositories]
    return msgspec.msgpack.encode(bare)


def decode_git(data: bytes) -> list[GitChanges]:
    """Return what `encode_git` encoded."""
    return msgspec.msgpack.decode(data, type=list[GitChanges])
