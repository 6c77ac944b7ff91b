"""What is put before the gate: the bytes themselves, not instructions for making them (docs/attacks.md (a))."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..workspace import FileState, Workspace, read_state


class FileDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file: what was there, and the exact bytes that would be there."""

    tool: str
    path: str
    """Relative to the workspace, links followed."""
    before: FileState
    """`before.path` is the path as the model gave it."""
    after: bytes | None
    """None: the file goes away."""
    notes: list[str] = []
    """What the model should know (a match that was tolerated), a line each."""
    again: Callable[[FileState], bytes | str]
    """Plans the same change on other content; a text says why that is not possible."""
    misfit: str | None = None
    """Why it does not fit what the file holds now, one line: it comes before the gate in conflict."""
    edited: bool = False
    """`after` is a text of the person's, approved once already."""
    landed: str | None = None
    """The command that made this change already: to approve is to keep it, nothing is written."""


class CommandDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A command line for `bash --noprofile --norc -c`, in the workspace's root."""

    tool: str
    command: str
    timeout: float
    """Seconds."""
    cwd: Path
    beyond: str | None = None
    """It ran and the sandbox refused it this: to approve is to run it once more, with that let through."""
    network: bool = False
    writable: tuple[Path, ...] = ()
    unsandboxed: bool = False
    """What is let through: all of it, or no sandbox at all."""


Draft = FileDraft | CommandDraft


def look(ws: Workspace, given: str) -> FileState:
    """The file behind a path as it is now, no link followed after the path was judged.

    Raises PathRefused and UnreadableFile.
    """
    state = read_state(ws.resolve(given), beneath=ws.root)
    return msgspec.structs.replace(state, path=Path(given))


def changed_draft(path: str, before: bytes | None, after: bytes | None, command: str) -> FileDraft:
    """The change that a command made to a guarded file, to be kept or put back (docs/requirements.md 2.3.6)."""
    state = FileState(
        path=Path(path),
        real=Path(path),
        exists=before is not None,
        data=before or b"",
        sha256=None if before is None else hashlib.sha256(before).hexdigest(),
        size=len(before or b""),
    )
    return FileDraft(
        tool="run_command",
        path=path,
        before=state,
        after=after,
        again=lambda _: "the command already made this change",
        landed=command,
    )


def digest_of(draft: Draft, sandbox: str | None) -> str:
    """Hex digest of exactly what would be done: which file, from which bytes to which; or which command line, where."""
    if isinstance(draft, CommandDraft):
        parts = [b"command", draft.command.encode(), str(draft.cwd).encode(), (sandbox or "").encode()]
        if draft.beyond is not None:
            parts += [b"beyond", str((draft.network, draft.unsandboxed)).encode()]
            parts += [os.fsencode(path) for path in draft.writable]
    else:
        before, after = draft.before, draft.after
        parts = [
            b"file",
            str(before.real).encode("utf-8", "surrogateescape"),
            (before.sha256 or "absent").encode(),
            b"absent" if after is None else b"bytes" + after,
        ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
