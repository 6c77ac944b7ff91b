"""Drafts: the exact bytes or the exact command line that the gate decides on (docs/attacks.md (a))."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ..host.address_hosts import Target
from ..host.files.file_states import FileState, read_state
from ..protocol.text.plan_text import Plan, plan_text
from .effects_draft import EffectsDraft

if TYPE_CHECKING:
    from ..extend.mcp.tool_listing import McpTool
    from ..host.workspace_paths import Workspace


class PlannedEdit(Protocol):
    """A change of one file, apart from the content that it was first planned on."""

    def on(self, state: FileState) -> bytes | str:
        """Return the new bytes of a file with this content, or why the change is not possible there."""
        ...


class FileDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file: its state before, and the exact bytes after."""

    tool: str
    path: str
    """Path relative to the workspace, with links followed."""
    before: FileState
    """`before.path` is the path as the model gave it."""
    after: bytes | None
    """None means that the file is deleted."""
    notes: list[str] = []
    """Notes for the model, such as an inexact match that was tolerated; one line each."""
    plan: PlannedEdit
    """The change, which can be planned on other content."""
    conflict: str | None = None
    """Why the change does not fit the file's current content, in one line; the proposal then opens in conflict."""
    edited: bool = False
    """Whether `after` is the person's own text, which they approved already."""
    from_text: bool = False
    """The program made the change of code in a chat's answer, so only a person approves it."""
    written_by: str | None = None
    """The command that already made this change: approving keeps the change, and nothing is written."""


class CommandDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A command line for `bash --noprofile --norc -c` in the workspace's root."""

    tool: str
    command: str
    timeout: float
    """Time-out in seconds."""
    cwd: Path
    beyond: str | None = None
    """What the sandbox refused when the command ran. Approving runs the command once more with that allowed."""
    network: bool = False
    """Whether that run may use the network."""
    writable: tuple[Path, ...] = ()
    """Paths outside the workspace that this second run may write."""
    unsandboxed: bool = False
    """Whether that run has no sandbox at all."""


class McpDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool of an MCP server, or a list of tools that a server wants to offer."""

    tool: str
    """The name that the model uses; `mcp` for a list."""
    server: str
    name: str
    """The server's own name of the tool."""
    arguments: str
    """The exact arguments as JSON, indented for a person. For a list: what differs from the accepted one."""
    identity: str
    """Digest of the server's command or URL."""
    claims: list[str] = []
    """What the server says about the tool, in words. Shown, and never trusted."""
    is_listing: bool = False
    called: McpTool | None = None
    """The tool, with whose schema other arguments are compared. None means that the draft is a list."""

    @property
    def title(self) -> str:
        """What waits, in a few words."""
        return f"tools of {self.server}" if self.is_listing else self.tool


class WebDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a page, or of results of a web search."""

    tool: str
    url: str
    """Exactly as it is requested."""
    target: Target
    query: str = ""
    """The words of a web search. Empty means that a page is requested."""
    notes: list[str] = []
    """What a person should know about the host, one line each."""
    doubts: list[str] = []
    """Why a person decides even if a rule allows the host, one line each."""
    is_configured: bool = False
    """The user's config names the host, so it may be a local one."""

    @property
    def host(self) -> str:
        """The host as a rule has it: with its port, if that is neither 80 nor 443."""
        text = str(self.target)
        return text.rpartition(":")[0] if self.target.port in (80, 443) else text


class CheckLookup(Protocol):
    """Tells whether a command can be a check, without running it."""

    def problem_of(self, command: str) -> str | None:
        """Return why it could never pass, or None."""
        ...


class PlanDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with its check. Nothing is done with it but that a person accepts it."""

    tool: str
    plan: Plan
    decides: str = ""
    """What the person set to decide when the task is done, in words. Empty means that the check of the plan does."""
    checks: CheckLookup | None = None
    """Looks at the check that a person writes instead. None means that nothing does."""
    passes: bool = False
    """What decides passes already, before anything was done."""

    @property
    def text(self) -> str:
        """The plan as the text that a person can edit."""
        return plan_text(self.plan, has_check=not self.decides)


Draft = FileDraft | CommandDraft | McpDraft | EffectsDraft | PlanDraft | WebDraft


def read_file_state(ws: Workspace, given: str) -> FileState:
    """Read the current state of the file at a path. No link is followed after the path was checked.

    Raises PathRefused and UnreadableFile.
    """
    state = read_state(ws.resolve(given), beneath=ws.root)
    return msgspec.structs.replace(state, path=Path(given))


def changed_draft(path: str, before: bytes | None, after: bytes | None, command: str) -> FileDraft:
    """Return the draft of a change that a command already made to a guarded file (docs/requirements.md 2.3.6).

    The ruling decides whether the change is kept or reverted.
    """
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
        plan=_AlreadyMade(),
        written_by=command,
    )


class _AlreadyMade:
    """A change that a command made: it cannot be made again."""

    def on(self, state: FileState) -> str:
        return "the command already made this change"


def digest_of_draft(draft: Draft, sandbox: str | None) -> str:
    """Return a hex digest of exactly what would happen.

    It covers the file with both contents, the command line with its folder, its sandbox and its extra permissions, the
    server, the tool and its arguments, the effects of a command, the text of a plan, or the URL of a request.
    """
    if isinstance(draft, CommandDraft):
        parts = [b"command", draft.command.encode(), str(draft.cwd).encode(), (sandbox or "").encode()]
        if draft.beyond is not None:
            parts += [b"beyond", str((draft.network, draft.unsandboxed)).encode()]
            parts += [os.fsencode(path) for path in draft.writable]
    elif isinstance(draft, EffectsDraft):
        parts = draft.digested
    elif isinstance(draft, McpDraft):
        what = b"mcp list" if draft.is_listing else b"mcp call"
        parts = [what, *(text.encode() for text in (draft.server, draft.identity, draft.name, draft.arguments))]
    elif isinstance(draft, WebDraft):
        parts = [b"web", *(text.encode() for text in (draft.tool, draft.url, draft.query))]
    elif isinstance(draft, PlanDraft):
        parts = [b"plan", draft.text.encode(), draft.decides.encode()]
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
