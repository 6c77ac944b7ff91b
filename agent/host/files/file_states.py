"""The state of a file at one moment. Proposals are based on it, and writes compare the file with it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

import msgspec

from ..file_errors import UnreadableFile, WriteFailed
from ..real_paths import real_path
from .file_content import Newline, stray_byte, text_format_of, with_newline
from .no_follow import open_beneath, read_all

LIMIT = 20_000_000
"""Maximum bytes of a file that is read."""


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its bytes at one moment. If there is no file, `exists` is False and `data` empty."""

    path: Path
    """The path as it was given."""
    real: Path
    """The path with every link followed: the target of a write."""
    exists: bool
    data: bytes = b""
    sha256: str | None = None
    """Hex digest of the bytes, or None if there is no file."""
    mode: int = 0
    """Permission bits, including the set-id bits."""
    dev: int = 0
    ino: int = 0
    links: int = 0
    """Number of hard links."""
    mtime_ns: int = 0
    size: int = 0
    is_binary: bool = False
    encoding: str = "utf-8"
    """Empty for a binary file."""
    bom: bytes = b""
    newline: Newline = ""

    def text(self) -> str:
        """Return the text without byte order mark, with its line endings. Raises UnreadableFile if it is not text."""
        if self.is_binary:
            raise UnreadableFile(f"{self.path}: it is binary ({self.size:,} bytes), not text")
        return self.data[len(self.bom) :].decode(self.encoding)

    def encode(self, text: str) -> bytes:
        r"""Encode a new text with this file's encoding, byte order mark and, for a bare `\n`, line ending.

        `encode(text())` gives the same bytes. Raises WriteFailed if the encoding lacks a character.
        """
        try:
            return self.bom + with_newline(text, self.newline).encode(self.encoding or "utf-8")
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise WriteFailed(f"{self.path}: its encoding {self.encoding} has no {character!r}: replace it") from None


def why_read_only(state: FileState) -> str | None:
    """Return in one line why this file must not be written, or None if it may be."""
    if not state.exists or state.mode & 0o222:
        return None
    return f"{state.path}: it is read-only (mode {stat.S_IMODE(state.mode):04o}): chmod it"


def why_not_editable(state: FileState) -> str | None:
    """Return in one line why this file cannot be edited as text, or None if it can."""
    if state.is_binary:
        return f"{state.path}: it is binary ({state.size:,} bytes), not text"
    if state.encoding not in ("cp1252", "latin-1"):
        return None
    stray = stray_byte(state.data)
    if stray is None:
        return None
    return (
        f"{state.path}: it is not valid UTF-8 (line {stray[0]} has the byte 0x{stray[1]:02x}) and has no other "
        "encoding: fix that byte before you edit the file"
    )


def read_state(path: Path, limit: int = LIMIT, *, beneath: Path | None = None) -> FileState:
    """Read the file as it is now. Raises UnreadableFile unless it is a plain file of at most `limit` bytes.

    With `beneath` (the root of a workspace), no link below that folder is followed: a link that appears after the
    path was resolved is an error, so that it cannot lead outside.
    """
    real = path if beneath else real_path(path)
    try:
        return _read(path, real, limit, beneath)
    except FileNotFoundError:
        return FileState(path=path, real=real, exists=False)
    except NotADirectoryError:
        raise UnreadableFile(f"{path}: a part of this path is a file or a link, not a folder") from None
    except OSError as error:
        raise UnreadableFile(f"{path}: {_why(error)}") from None


def state_of(path: Path, real: Path, data: bytes, status: os.stat_result) -> FileState:
    """Make the state from bytes and the file's status."""
    form = text_format_of(data)
    return FileState(
        path=path,
        real=real,
        exists=True,
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        mode=stat.S_IMODE(status.st_mode),
        dev=status.st_dev,
        ino=status.st_ino,
        links=status.st_nlink,
        mtime_ns=status.st_mtime_ns,
        size=len(data),
        is_binary=not form.encoding,
        encoding=form.encoding,
        bom=form.bom,
        newline=form.newline,
    )


def stored_state(path: Path, real: Path, data: bytes | None) -> FileState:
    """Make a state from stored bytes only, for comparisons. `data` is None if there was no file."""
    if data is None:
        return FileState(path=path, real=real, exists=False)
    return state_of(path, real, data, os.stat_result([0] * 10, {"st_mtime_ns": 0}))  # without it, it is None


def _read(path: Path, real: Path, limit: int, beneath: Path | None) -> FileState:
    fd = open_beneath(beneath or Path(real.anchor), real)
    try:
        status = os.fstat(fd)
        data = _contents(fd, path, status, limit)
        for _ in range(3):  # another program may be writing
            after = os.fstat(fd)
            if (after.st_mtime_ns, after.st_size) == (status.st_mtime_ns, status.st_size):
                break
            os.lseek(fd, 0, os.SEEK_SET)
            status, data = after, _contents(fd, path, after, limit)
        return state_of(path, real, data, status)
    finally:
        os.close(fd)


def _contents(fd: int, path: Path, status: os.stat_result, limit: int) -> bytes:
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(f"{path}: it is {_kind(status.st_mode)}, not a file")
    data = b"" if status.st_size > limit else read_all(fd, limit + 1)
    if status.st_size > limit or len(data) > limit:
        raise UnreadableFile(f"{path}: it is too large ({status.st_size:,} bytes; at most {limit:,} are read)")
    return data


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a link, or its links form a circle"
    if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
        return "it is a pipe or a socket, not a file"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "its permissions do not allow reading"
    return error.strerror or str(error)
