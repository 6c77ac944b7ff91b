"""Drafts: the exact bytes or command that the gate decides on, not instructions to make them (docs/attacks.md (a))."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..workspace import FileState, Workspace, read_state


class FileDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file: its state before, and the exact bytes after."""

    tool: str
    path: str
    """Relative to the workspace, with links followed."""
    before: FileState
    """`before.path` is the path as the model gave it."""
    after: bytes | None
    """None: the file is deleted."""
    notes: list[str] = []
    """Notes for the model, such as an inexact match that was tolerated; one line each."""
    again: Callable[[FileState], bytes | str]
    """Plans the same change on other content; a returned text says why that is not possible."""
    misfit: str | None = None
    """Why the change does not fit the file's present content, in one line: the proposal opens in conflict."""
    edited: bool = False
    """`after` is the person's text, which they approved already."""
    landed: str | None = None
    """The command that made this change already: approving keeps it, and nothing is written."""


class CommandDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A command line for `bash --noprofile --norc -c` in the workspace's root."""

    tool: str
    command: str
    timeout: float
    """Time-out in seconds."""
    cwd: Path
    beyond: str | None = None
    """What the sandbox refused when the command ran: approving runs the command once more with that allowed."""
    network: bool = False
    writable: tuple[Path, ...] = ()
    unsandboxed: bool = False
    """What is allowed in that run: everything, without a sandbox."""


Draft = FileDraft | CommandDraft


def look(ws: Workspace, given: str) -> FileState:
    """Read the present state of the file at a path; no link is followed after the path was checked.

    Raises PathRefused and UnreadableFile.
    """
    state = read_state(ws.resolve(given), beneath=ws.root)
    return msgspec.structs.replace(state, path=Path(given))


def changed_draft(path: str, before: bytes | None, after: bytes | None, command: str) -> FileDraft:
    """Return the change that a command made to a guarded file, to keep or to restore (docs/requirements.md 2.3.6)."""
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
    """Return a hex digest of exactly what would happen: the file with both contents, or the command line and place."""
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
