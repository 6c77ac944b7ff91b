"""Earlier messages of a folder, which Up recalls, also in a later session. Does not import textual."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..control.run_controller import RunController

_MOST = 500
"""Messages that are kept of each folder."""
_LONGEST = 10_000
"""Characters of the longest message that is kept."""
_LARGEST = 4_000_000
"""Bytes of the file that are read, from its end."""


class HistoryFile:
    """The messages that were sent from one workspace: a file of JSON lines that only its owner can read.

    Several sessions may add to it at the same time. Secrets are hidden, as in a journal.
    """

    def __init__(self, folder: Path, workspace: Path, keys_from: Sequence[str] = ()) -> None:
        """`folder`: where the journals are. `keys_from`: further variables that contain keys."""
        name = hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:16]
        self.path = folder / f"history-{name}.jsonl"
        self._keys_from = keys_from

    def load(self) -> list[str]:
        """Return the messages, oldest first; none if the file cannot be read. Lines of another form are skipped."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            status = os.fstat(descriptor)
            start = max(0, status.st_size - _LARGEST)
            lines = os.pread(descriptor, _LARGEST, start).splitlines() if stat.S_ISREG(status.st_mode) else []
        finally:
            os.close(descriptor)
        found: list[str] = []
        for line in lines[-2 * _MOST :]:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                found.append(msgspec.json.decode(line, type=str))
        return found[-_MOST:]

    def add(self, text: str) -> None:
        """Append a message. A folder that cannot be written keeps no history: the message itself is in the journal."""
        if len(text) > _LONGEST:
            return
        from rundry.agent import Redactor  # costs some ms, and is needed when a message is sent

        shown = Redactor.from_env(os.environ, self._keys_from)(text)
        with suppress(OSError):
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.path, flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                os.write(descriptor, msgspec.json.encode(shown) + b"\n")
                self._shorten(descriptor)
            finally:
                os.close(descriptor)

    def _shorten(self, descriptor: int) -> None:
        """Keep the newest messages once there are twice as many as are kept. The caller holds the lock."""
        data = os.pread(descriptor, _LARGEST, max(0, os.fstat(descriptor).st_size - _LARGEST))
        lines = data.splitlines(keepends=True)
        if len(lines) > 2 * _MOST or len(data) == _LARGEST:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, b"".join(lines[-_MOST:]))


def kept_history(controller: RunController) -> HistoryFile | None:
    """Return the file of the messages from the folder of a view, or None if nothing is sent from it."""
    journal, start = controller.link.journal, controller.start
    if controller.is_read_only or (journal is None and start is None):
        return None
    if journal is not None:
        folder, workspace, key_from = journal.path.parent, Path(journal.spec.workspace), journal.spec.model.key_from
    else:
        assert start is not None
        folder, workspace, key_from = start.folder, start.workspace, start.model.key_from if start.model else None

    return HistoryFile(folder, workspace, [key_from] if key_from else [])


class History:
    """Sent messages, oldest first, and the position of the person in them."""

    def __init__(self, file: HistoryFile | None = None) -> None:
        """`file`: where they are kept for later sessions, or None if they are not kept."""
        self._file = file
        self._sent: list[str] = file.load() if file is not None else []
        self._at = len(self._sent)
        self._draft = ""

    def add(self, text: str) -> None:
        """Add a sent message; the same one twice in a row counts once."""
        if text and (not self._sent or self._sent[-1] != text):
            self._sent.append(text)
            if self._file is not None:
                self._file.add(text)
        self._at = len(self._sent)
        self._draft = ""

    @property
    def sent(self) -> Sequence[str]:
        """The messages, oldest first."""
        return self._sent

    def older(self, current: str) -> str | None:
        """Return the previous message, or None if there is none.

        `current` is the text in the box, which `newer` returns at the end.
        """
        if self._at == 0:
            return None
        if self._at == len(self._sent):
            self._draft = current
        self._at -= 1
        return self._sent[self._at]

    def newer(self) -> str | None:
        """Return the next message, at the end the draft, or None if there is nothing newer."""
        if self._at >= len(self._sent):
            return None
        self._at += 1
        return self._draft if self._at == len(self._sent) else self._sent[self._at]
