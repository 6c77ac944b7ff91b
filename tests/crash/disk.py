"""What a disk holds after a power cut: what was forced out, and any part of the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from .traced import Op

Written = tuple[int | None, bytes, int]
"""Offset, data and length after a cut (-1: no cut)."""


@dataclass
class _File:
    forced_out: bytes = b""
    pending: list[Written] = field(default_factory=list[Written])
    end: int = 0
    """Where a write without an offset goes: the files that are followed have one writer."""

    def content(self, keeps: Callable[[], bool]) -> bytes:
        found = bytearray(self.forced_out)
        for offset, data, size in self.pending:
            if not keeps():
                continue
            if size >= 0:
                found[size:] = bytes(max(0, size - len(found)))
            elif offset is not None:
                found.extend(bytes(max(0, offset - len(found))))
                found[offset : offset + len(data)] = data
        return bytes(found)

    def force_out(self) -> None:
        self.forced_out, self.pending = self.content(lambda: True), []


class Disk:
    """Files in one folder, by the calls that changed them. A name is safe once its folder was forced out."""

    def __init__(self, folder: Path, there: Mapping[Path, bytes] | None = None) -> None:
        """`there`: files that are on the disk already."""
        self.folder = str(folder)
        self._names = {str(path): _File(data, end=len(data)) for path, data in (there or {}).items()}
        self._safe_names = dict(self._names)

    def apply(self, op: Op) -> None:
        """Take in one call; those that concern other folders change nothing."""
        if op.kind == "sync" and op.path == self.folder:
            self._safe_names = dict(self._names)
        if not (self._has(op.path) or self._has(op.to)):
            return
        match op.kind:
            case "write" | "cut":
                self._write(self._names.setdefault(op.path, _File()), op)
            case "sync":
                self._names.setdefault(op.path, _File()).force_out()
            case "remove":
                self._names.pop(op.path, None)
            case "name":
                self._names[op.to] = self._names[op.path]
            case "move":
                self._names[op.to] = self._names.pop(op.path)
            case "send":
                pass

    def after_cut(self, chance: random.Random | None = None) -> dict[str, bytes]:
        """The files by name. Without `chance`, all that was not forced out is lost; with it, each write may be."""

        def keeps() -> bool:
            return chance is not None and chance.random() < 0.5

        return {PurePath(name).name: file.content(keeps) for name, file in self._safe_names.items()}

    def _has(self, path: str) -> bool:
        return str(PurePath(path).parent) == self.folder

    @staticmethod
    def _write(file: _File, op: Op) -> None:
        if op.kind == "cut":
            file.pending.append((None, b"", op.size))
            file.end = min(file.end, op.size)
        elif op.data:
            offset = file.end if op.offset is None else op.offset
            file.pending.append((offset, op.data, -1))
            file.end = offset + len(op.data)
