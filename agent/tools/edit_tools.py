"""Plan `edit_file` and `write_file`: turn the model's arguments into the exact bytes that the gate shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ..gate.draft import FileDraft, read_file_state
from ..host.file_errors import PathRefused, UnreadableFile, WriteFailed
from ..host.files.file_states import FileState, why_not_editable, why_read_only
from .edit_blocks.indentation import UncertainBlock
from .edit_blocks.match_block import Occurrences, find_block
from .fit_text import LONGEST_LINE, lines_of, numbered
from .reading.existing_files import existing
from .tool_result import ToolResult, failure

if TYPE_CHECKING:
    from .tool_arguments import Edit, EditFile, WriteFile
    from .tool_context import ToolContext

_SHORT = 3_000
"""Characters of a file that a refusal shows."""
_SHOWN = 24
"""Lines shown of a near match."""

_ENOUGH = 60.0
"""Least similarity in percent that makes a place worth showing."""
_MOST_LINES = 20_000
_CANDIDATES = 12


class _Planned(msgspec.Struct, frozen=True):
    after: bytes
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _EditPlan:
    """The blocks of an edit."""

    blocks: list[Edit]

    def on(self, state: FileState) -> bytes | str:
        if not state.exists:
            return "the file was deleted"
        if why := why_not_editable(state):
            return why
        planned = _apply(state, self.blocks)
        return planned if isinstance(planned, str) else planned.after


@dataclass(frozen=True, slots=True)
class _WritePlan:
    """The whole content of a file, written over what the model knew of it."""

    before: FileState
    after: bytes

    def on(self, state: FileState) -> bytes | str:
        if not self.before.exists:
            return "someone else made the file meanwhile"
        return "its content changed, and this would overwrite it" if state.exists else self.after


def plan_edit(args: EditFile, ctx: ToolContext) -> FileDraft | ToolResult:
    """Plan the file with all blocks replaced, or return why a block does not fit."""
    state = existing(args.path, ctx)
    if isinstance(state, ToolResult):
        if state.summary == "no such file":
            return failure(f"{state.text} To make a new file use write_file.", state.summary)
        return state
    before = read_file_state(ctx.workspace, args.path)
    if why := why_read_only(before):
        return failure(why, "read-only")
    if why := why_not_editable(before):
        return failure(why, "not text")
    plan = _EditPlan(args.blocks())
    planned = _apply(before, plan.blocks)
    if isinstance(planned, str):
        return failure(f"{args.path}: {planned}", "no match")
    if planned.after == before.data:
        return failure(f"{args.path}: the edit changes nothing: the old and the new text are the same", "no change")

    path = ctx.workspace.relative(before.real)
    return FileDraft(
        tool="edit_file",
        path=path,
        before=before,
        after=planned.after,
        notes=[*planned.notes, *_form(before), *ctx.notes_on_edit(path, before)],
        plan=plan,
    )


def plan_write(args: WriteFile, ctx: ToolContext) -> FileDraft | ToolResult:
    """Plan the file with its new content, in its present encoding and with its line endings."""
    try:
        real = ctx.workspace.resolve(args.path)
        if real.is_dir():
            return failure(f"{args.path} is a folder: name a file in it", "a folder")
        before = read_file_state(ctx.workspace, args.path)
        if why := why_read_only(before):
            return failure(why, "read-only")
        if why := why_not_editable(before):
            return failure(why, "not text")
        after = before.encode(args.content)
    except (PathRefused, UnreadableFile, WriteFailed) as error:
        return failure(str(error), "refused" if isinstance(error, PathRefused) else "failed")
    if before.exists and after == before.data:
        return ToolResult(ok=True, text=f"{args.path} already has exactly this content", summary="no change")
    path = ctx.workspace.relative(before.real)
    if why := ctx.why_unread(path, before):
        return _not_read(args.path, why, before, ctx)
    notes: list[str] = []
    if before.newline in ("\r\n", "\r") and "\n" in args.content.replace("\r\n", ""):
        ending = "CRLF" if before.newline == "\r\n" else "CR"
        notes.append(f"written with the file's line endings ({ending})")

    notes += _form(before)
    return FileDraft(
        tool="write_file",
        path=path,
        before=before,
        after=after,
        notes=notes,
        plan=_WritePlan(before, after),
    )


def _not_read(path: str, why: str, before: FileState, ctx: ToolContext) -> ToolResult:
    """Return the refusal to replace a file that the model has not seen. It shows a short file, which is then seen."""
    lines = [] if ctx.denial_of("read_file", path) else lines_of(before.text())
    shown = numbered(lines, 1)
    if not lines or len("\n".join(shown)) > min(_SHORT, ctx.limit // 2) or any(len(x) > LONGEST_LINE for x in lines):
        return failure(f"{why}. Read it, then write it again with its lines. Nothing was changed.", "not read")
    text = "\n".join(
        [f"{why}. Nothing was changed. These are its lines:", *shown, "Write it again with the lines that must stay."]
    )
    return ToolResult(ok=False, text=text, summary="not read", seen=ctx.seen(before, 1, len(lines), len(lines)))


def _form(before: FileState) -> list[str]:
    """Return a note on the encoding if it is not UTF-8."""
    if not before.exists or before.encoding == "utf-8":
        return []
    return [f"the file is {before.encoding}, not UTF-8, and keeps this encoding"]


def _apply(before: FileState, edits: list[Edit]) -> _Planned | str:
    """Apply all edits in order, or return why one of them does not fit."""
    try:
        text = before.text()
    except UnreadableFile as error:
        return str(error)
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        if not edit.old_text:
            return f"{which}old_text is empty: give the lines to replace, or use write_file"
        if edit in edits[: number - 1]:
            return f"{which}it repeats edit {edits.index(edit) + 1}. Send it once. Nothing was changed."
        place = find_block(text, edit.old_text, edit.new_text)
        if place is None:
            return which + _not_found(text, edit)
        if isinstance(place, Occurrences):
            at = ", ".join(str(line) for line in place.lines[:10])
            return (
                f"{which}old_text occurs {len(place.lines)} times (lines {at}). "
                "Give more lines around it, so that it is unique. Nothing was changed."
            )
        if isinstance(place, UncertainBlock):
            return f"{which}{place.why} Nothing was changed."
        notes += [which + note for note in place.notes]
        text = text[: place.start] + place.new + text[place.end :]
    try:
        return _Planned(before.encode(text), notes)
    except WriteFailed as error:
        return str(error)


def _not_found(text: str, edit: Edit) -> str:
    parts = ["old_text is not in the file. Nothing was changed."]
    if edit.new_text.strip() and edit.new_text.strip() in text:
        parts.append("The file already has new_text: perhaps the edit was made before.")
    near = _nearest(text, edit.old_text)
    if near is None:
        parts.append("Read the file, and copy the lines exactly.")
        return " ".join(parts)
    last = near.line + len(near.lines) - 1
    where = f"line {near.line}" if last == near.line else f"lines {near.line} to {last}"
    shown = numbered(near.lines[:_SHOWN], near.line)
    parts.append(f"The nearest is {where} ({near.likeness:.0f} % alike); copy it exactly, without the numbers:")
    return "\n".join([" ".join(parts), *shown])


class _Near(msgspec.Struct, frozen=True):
    """The place in a file that is most similar to a search text."""

    line: int
    """Number of its first line, 1-based."""
    lines: list[str]
    likeness: float
    """Similarity in percent."""


def _nearest(text: str, old: str) -> _Near | None:
    """Return the lines that are most like the block, or None if none are similar."""
    from rapidfuzz import fuzz, process

    lines = lines_of(text)[:_MOST_LINES]
    block = lines_of(old)
    while block and not block[0].strip():
        block.pop(0)
    if not lines or not block:
        return None
    anchor = max(range(len(block)), key=lambda i: len(block[i].strip()))
    stripped = [line.strip() for line in lines]
    hits = process.extract(block[anchor].strip(), stripped, scorer=fuzz.ratio, limit=_CANDIDATES)
    best: _Near | None = None
    for _, _, at in hits:
        start = max(0, int(at) - anchor)
        found = lines[start : start + len(block)]
        likeness = fuzz.ratio(_joined(found), _joined(block))
        if best is None or likeness > best.likeness:
            best = _Near(start + 1, found, likeness)
    return best if best is not None and best.likeness >= _ENOUGH else None


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines)
