"""Know which contents of files the model has seen, so that it cannot replace lines that it never saw.

See decisions/0043, 3. This follows from its conversation: what a shortened or rewound conversation no longer has is not
seen. Only a file of which git has the same content may be replaced unread, because nothing of it can be lost. The same
holds for what the run made of such a content, or of nothing. Without git it is one that nobody changed since it began.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..gate.rebase import REBASED
from ..host.file_errors import UnreadableFile
from ..layers.git_contents import GitContents
from ..layers.layer_effects import IN_MEMORY, Effect, Side
from ..protocol.messages import SeenContent
from .fit_text import lines_of

if TYPE_CHECKING:
    from ..gate.draft import FileDraft
    from ..host.files.file_states import FileState
    from ..state.facts.conversation import Conversations
    from ..state.facts.standing_changes import Changes

_MOST_TEXTS = 100
"""Files whose seen text is kept in memory, to tell what changed since then."""
_MOST_CHANGED = 30
"""Lines of a change that a result shows."""


@dataclass(slots=True)
class _Known:
    """What the model knows of one content of a file."""

    of: int = 0
    """Number of lines. 0 means that it was only named."""
    ranges: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def is_whole(self) -> bool:
        """Whether it has seen each line."""
        end = 0
        for first, last in sorted(self.ranges):
            if first > end + 1:
                return False
            end = max(end, last)
        return 0 < self.of <= end

    @property
    def in_words(self) -> str:
        """The lines that it has seen."""
        return ", ".join(f"{first} to {last}" for first, last in sorted(self.ranges) if last >= first)


class ReadContents:
    """Contents of files that the model of a run has seen."""

    def __init__(
        self, sent: Conversations | None = None, changes: Changes | None = None, *, began_ns: int | None = None
    ) -> None:
        """`sent`, `changes`: those of the run. `began_ns`: when it began; None means now."""
        self._sent, self._changes = sent, changes
        self._began_ns = time.time_ns() if began_ns is None else began_ns
        self._texts = dict[str, str]()

    def keep_text(self, path: str, state: FileState) -> None:
        """Keep the text of a file in memory, to say later what changed since."""
        try:
            self._texts.pop(path, None)
            self._texts[path] = state.text()
        except UnreadableFile:
            return
        while len(self._texts) > _MOST_TEXTS:
            del self._texts[next(iter(self._texts))]

    def after_write(self, draft: FileDraft, data: bytes, digest: str) -> SeenContent:
        """Return what the model knows of a file that one of its calls wrote."""
        before, path = draft.before, draft.path
        now = msgspec.structs.replace(before, exists=True, data=data, size=len(data))
        self.keep_text(path, now)
        count = len(lines_of(now.text()))
        seen = SeenContent(path=path, digest=digest, last=count, of=count)
        is_whole = draft.tool == "write_file"
        is_merged = is_whole and REBASED in draft.notes
        if data != draft.after or draft.edited or is_merged:  # it has lines of somebody else
            return msgspec.structs.replace(seen, last=0)
        return seen if is_whole else msgspec.structs.replace(seen, base=before.sha256 or "")

    def digests(self) -> dict[str, set[str]]:
        """Return the digests of the contents of which the model has seen something, by path."""
        found = dict[str, set[str]]()
        for seen in self._seen():
            found.setdefault(seen.path, set()).add(seen.digest)
        return found

    def why_unread(self, path: str, before: FileState, workspace: Path) -> str:
        """Return why a file has lines that the model never saw, or empty if it may replace the file.

        `workspace`: the folder of the user's repository.
        """
        if not before.exists or not before.size:
            return ""
        contents = self._known(path)
        known = contents.get(before.sha256 or "")
        if known is not None:
            return "" if known.is_whole else _unread_lines(path, known)
        if contents:
            return f"{path} was changed since you read it"
        git, made_of = GitContents(workspace), self._made_of(path, before.sha256)
        if None in made_of or (git.is_there and _has_any(git, path, made_of)):
            return ""
        if git.is_there:
            return f"you have not read {path}, and git does not have its lines"
        is_free = _changed_ns(before, workspace) < self._began_ns or len(made_of) > 1
        return "" if is_free else f"{path} was changed since the run began, and you have not read it"

    def _made_of(self, path: str, digest: str | None) -> list[str | None]:
        """Return this content and those of which the run alone made it, to the first, or None for a missing file."""
        found = [digest]
        for change in () if self._changes is None else reversed(self._changes.standing):
            effect = change.files.get(path)
            if effect is None:
                continue
            if effect.new != digest or not change.is_proven or effect.unstored_before is not None:
                break
            digest = effect.old
            found.append(digest)
        return found

    def is_new(self, path: str, now: FileState) -> bool:
        """Return whether a file was written since the run began, and the model has not seen any of this content."""
        return now.mtime_ns >= self._began_ns and now.sha256 not in self._known(path)

    def notes_on_edit(self, path: str, before: FileState) -> list[str]:
        """Return what the model should know about the other lines of a file that it edits: who changed what since."""
        contents = self._known(path)
        if not contents or before.sha256 in contents:
            return []
        why = f"{path} was changed since you read it"
        changed = _changed_lines(self._texts.get(path), before)
        if not changed:
            return [f"{why}: read it before you rely on its other lines"]
        self.keep_text(path, before)
        return [f"{why}. Somebody else changed this:", *changed]

    def _seen(self) -> Iterator[SeenContent]:
        """Yield what is in the conversations now. What one of them saw counts for the others of the run."""
        for conversation in () if self._sent is None else self._sent.conversations.values():
            for message in conversation.current():
                yield from message.seen
                yield from (call.seen for call in message.calls if call.seen is not None)

    def _known(self, path: str) -> dict[str, _Known]:
        """Return what the model knows of the contents of a file, by their digests; the newest last."""
        found = dict[str, _Known]()
        for seen in self._seen():
            if seen.path != path:
                continue
            known = found.pop(seen.digest, None) or _Known()
            known.of = max(known.of, seen.of)
            base = found.get(seen.base)
            if not seen.base or (base is not None and base.is_whole):
                known.ranges.append((seen.first, seen.last))
            found[seen.digest] = known
        return found


def _changed_ns(state: FileState, workspace: Path) -> int:
    """Return when a file was changed, or put there with an older time. A copy of the user's folder is always newer."""
    if not state.real.is_relative_to(workspace):
        return state.mtime_ns
    try:
        return max(state.mtime_ns, state.real.lstat().st_ctime_ns)
    except OSError:
        return state.mtime_ns


def _unread_lines(path: str, known: _Known) -> str:
    if not known.of:
        return f"{path} was changed since you read it"
    if not known.in_words:
        return f"you have not read all lines of {path}"
    return f"you have read only lines {known.in_words} of {path}, which has {known.of}"


def _changed_lines(old: str | None, now: FileState) -> list[str]:
    """Return what changed in a file since the model saw it, at most some lines. Empty means that it is not known."""
    if old is None:
        return []
    try:
        rows = list(unified_diff(lines_of(old), lines_of(now.text()), lineterm="", n=1))[2:]
    except UnreadableFile:
        return []
    shown = rows[:_MOST_CHANGED]
    return [*shown, *([f"[{len(rows) - len(shown)} more lines]"] if len(rows) > len(shown) else [])]


def _has_any(git: GitContents, path: str, digests: Sequence[str | None]) -> bool:
    """Return whether the index of git has one of these contents of a file."""
    sides = (Side(type="file", digest=digest) for digest in digests if digest)
    effects = (Effect(path=path, kind="changed", before=side, after=None) for side in sides)
    return git.has(path) and any(git.find([effect], IN_MEMORY) for effect in effects)
