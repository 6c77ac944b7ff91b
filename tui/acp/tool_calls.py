"""Tool calls, checks and proposals in the form in which an editor shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from rundry.agent import TOOL_TRAITS, CommandEffects, ProposalOpened, RundryError, effect_lines, end_cut, proposal_title

from ..gate.proposal_words import body, name
from ..text.show_text import one_line
from .acp_text import MOST_FILE, code, fenced, words

if TYPE_CHECKING:
    from ..control.run_controller import RunController

Content = list[ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent]
_KINDS: Mapping[str, ToolKind] = {
    "read_file": "read",
    "list_files": "search",
    "search": "search",
    "fetch_url": "fetch",
    "web_search": "fetch",
    "wake_after": "other",
    "finish": "think",
}
_EFFECTS: Mapping[str, ToolKind] = {"change": "edit", "command": "execute", "stop": "execute", "read": "read"}
_TITLE = 200


class Place:
    """Where a run works, and how its stored contents are read."""

    def __init__(self, controller: RunController) -> None:
        self._controller = controller

    @property
    def workspace(self) -> Path:
        """The folder in which the run works."""
        return self._controller.root

    def content(self, blob: str | None) -> bytes | None:
        """Return the bytes of a blob, or None if `blob` is None. Raises RundryError if the blob is missing."""
        return self._controller.content(blob)

    def hide(self, text: str) -> str:
        """Hide keys, also those that are in the environment only now."""
        journal = self._controller.link.journal
        return text if journal is None else journal.redactor(text)


def kind_of(tool: str) -> ToolKind:
    """Return what the editor calls this kind of tool; it selects an icon."""
    traits = TOOL_TRAITS.get(tool)
    return _KINDS.get(tool) or _EFFECTS.get(traits.effect if traits is not None else "", "other")


def title_line(text: str) -> str:
    """Return a title in one line."""
    return end_cut(one_line(" ".join(text.split())), _TITLE)


def text_content(text: str) -> ContentToolCallContent:
    """Return words as content of a tool call."""
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def output_content(text: str, place: Place) -> Content:
    """Return the output of a tool as content: none for an empty output."""
    return [text_content(fenced(place.hide(text)))] if text.strip() else []


def locations_of(tool: str, arguments: object, workspace: Path) -> list[ToolCallLocation]:
    """Return the file that a call names, so that the editor can follow it."""
    traits = TOOL_TRAITS.get(tool)
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    if traits is None or traits.subject != "path" or not isinstance(path := given.get("path"), str) or not path:
        return []
    line = given.get("start_line")
    return [location(path, workspace, line if isinstance(line, int) and line > 0 else None)]


def location(path: str, workspace: Path, line: int | None = None) -> ToolCallLocation:
    """Return a file of the workspace as the editor names it: by its absolute path."""
    return ToolCallLocation(path=absolute(path, workspace), line=line)


def absolute(path: str, workspace: Path) -> str:
    """Return the absolute path of a file of the workspace, with hidden characters replaced."""
    return code(str(workspace / path).replace("\n", " "))


def proposal_line(opened: ProposalOpened) -> str:
    """Return the title of a proposal."""
    if opened.path is None and opened.command is None:
        return title_line(name(opened))
    return title_line(proposal_title(opened.tool, opened.path, opened.command, opened.added, opened.removed))


def proposal_content(opened: ProposalOpened, place: Place) -> Content:
    """Return what a proposal would do: the change of a file as a diff, the command line, or the arguments of a call."""
    if opened.server is not None:
        return [text_content(fenced(place.hide(opened.call or ""), "json" if opened.name else ""))]
    if opened.effects is not None:
        return _effects(opened.effects, place)
    if opened.plan is not None:
        return [text_content(fenced(place.hide(opened.plan)))]
    if opened.url is not None:
        return [text_content(fenced(place.hide(body(opened))))]
    if opened.path is None:
        return [text_content(_command_words(opened, place))]
    sides = _sides(opened.before, opened.after, place)
    if sides is None:
        return [text_content(fenced(place.hide(opened.diff) or "the content is not text", "diff"))]
    before, after = sides
    path = absolute(opened.path, place.workspace)
    return [FileEditToolCallContent(type="diff", path=path, old_text=before, new_text=after)]


def _effects(effects: CommandEffects, place: Place) -> Content:
    """Return the entries as a list, then the texts as diffs, as many as one message can have."""
    found: Content = [text_content("\n".join(f"- {words(line)}" for line in effect_lines(effects)))]
    room = MOST_FILE
    for entry in effects.entries:
        sides = _sides(entry.before, entry.after, place) if entry.is_text else None
        if sides is None:
            continue
        room -= sum(len(side or "") for side in sides)
        if room < 0:
            found.append(text_content("The diffs of further files are too long to be shown here."))
            break
        path = absolute(entry.path, place.workspace)
        found.append(FileEditToolCallContent(type="diff", path=path, old_text=sides[0], new_text=sides[1]))
    return found


def _command_words(opened: ProposalOpened, place: Place) -> str:
    held = f"in the sandbox ({one_line(opened.sandbox)})" if opened.sandbox is not None else "without a sandbox"
    line = fenced(place.hide(opened.command or opened.tool), "sh")
    return f"{line}\nin {one_line(opened.cwd or '.')}, {held}"


def _sides(before_blob: str | None, after_blob: str | None, place: Place) -> tuple[str | None, str] | None:
    """Return the text before and after, or None if a content is missing, not UTF-8 text, or too long to send."""
    try:
        before, after = place.content(before_blob), place.content(after_blob)
    except RundryError:
        return None
    if len(before or b"") > MOST_FILE or len(after or b"") > MOST_FILE:
        return None
    try:
        old = None if before is None else code(place.hide(before.decode()))
        return old, code(place.hide((after or b"").decode()))
    except UnicodeDecodeError:
        return None


def note_content(lines: Sequence[str]) -> Content:
    """Return what the person should know before a decision."""
    return [text_content("\n".join(f"- {words(line)}" for line in lines))] if lines else []
