"""Send the instructions of a subfolder to the model when it first reads or edits a file below that folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import PathRefused
from ...host.plain_files import read_plain
from ...protocol import Prompted
from ...protocol.extensions.headings import FOLDER_INSTRUCTIONS
from ...protocol.tools.traits import TOOL_TRAITS

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events
    from ...tools.tool_context import ToolContext
    from ..resources.run_context import RunContext
    from ..tool_calls.call_results import CallResults

_NAMES = ("AGENTS.md", "CLAUDE.md")
_LARGEST = 1_000_000
"""Bytes of the largest file that is read. The limits below apply to its text."""
_MOST_CHARACTERS = 6_000
_MOST_FILES = 12
"""Files of one conversation, so that a tree full of them does not fill the window."""


async def send_folder_instructions(ctx: RunContext, outcome: CallResults, events: Events, work: str | None) -> None:
    """Record the nearest instructions of each file that the step's calls were about, once in a conversation."""
    if not ctx.facts.spec.changes_files or (ctx.edits is not None and ctx.edits.is_active):
        return
    paths = list(_touched(ctx.tools, outcome))
    if not paths:
        return
    for file, text in await asyncio.to_thread(_nearest, ctx.tools, paths):
        sent = _sent(ctx.facts, work)
        if file not in sent and len(sent) < _MOST_FILES:
            events.record(Prompted(kind="instructions", text=text))


def _touched(tools: ToolContext, outcome: CallResults) -> Iterator[str]:
    """Yield the paths of the calls that succeeded, relative to the workspace."""
    for call, parsed, result in outcome.results:
        traits = TOOL_TRAITS.get(call.tool)
        if not result.ok or traits is None or traits.path is None or parsed.arguments is None:
            continue
        given = msgspec.structs.asdict(parsed.arguments).get(traits.path)
        if isinstance(given, str) and given:
            try:
                yield tools.workspace.relative(tools.workspace.resolve(given))
            except PathRefused:
                continue


def _nearest(tools: ToolContext, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return the file and the message of the nearest instructions of each path, without those of the root."""
    found: dict[str, str] = {}
    for path in paths:
        for folder in (PurePosixPath(path), *PurePosixPath(path).parents):
            if folder == PurePosixPath("."):
                break
            file = next((f"{folder}/{name}" for name in _NAMES if _is_usable(tools, f"{folder}/{name}")), None)
            if file is not None:
                if file not in found and (text := _message(tools.workspace.root, folder, file, tools.limit)):
                    found[file] = text
                break
    return list(found.items())


def _is_usable(tools: ToolContext, file: str) -> bool:
    """Return whether this is a file of the project itself: no link out of it, not ignored, and not denied."""
    if not os.path.lexists(tools.workspace.at(file)):  # nearly always, and to resolve a path costs ten times as much
        return False
    try:
        real = tools.workspace.resolve(file)
    except PathRefused:
        return False
    return real.is_file() and not tools.ignore.ignored(file) and tools.denial_of("read_file", file) is None


def _message(root: Path, folder: PurePosixPath, file: str, limit: int) -> str:
    try:
        text = read_plain(root / file, _LARGEST).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    cut_at = min(_MOST_CHARACTERS, limit)
    left_out = f"\n[... {len(text) - cut_at:,} more characters are left out ...]" if len(text) > cut_at else ""
    return f"{FOLDER_INSTRUCTIONS}{folder}/ ({file}):\n{text[:cut_at]}{left_out}" if text else ""


def _sent(facts: RunFacts, work: str | None) -> set[str]:
    """Return the files whose instructions the conversation has. After a compaction they are sent again."""
    texts = (message.text or "" for message in facts.conversation(work).messages if message.role == "user")
    heads = (text.partition(":\n")[0] for text in texts if text.startswith(FOLDER_INSTRUCTIONS))
    return {head.rpartition(" (")[2].removesuffix(")") for head in heads}
