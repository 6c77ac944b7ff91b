"""Edits for small models (docs/requirements.md 7.4): the program chooses the file, the model fills a JSON object, and
the program turns it into an edit. The model neither chooses a tool nor escapes arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..facts.conversation import last_text
from ..gate.draft import read_file_state
from ..protocol import Message, ToolCall
from ..workspace.errors import PathRefused, UnreadableFile
from ..workspace.files.states import why_not_editable
from ..workspace.ignore import Ignore

if TYPE_CHECKING:
    from ..facts.facts import RunFacts
    from ..stops.guard import Guard
    from ..workspace.paths import Workspace

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"find": {"type": "string"}, "replace": {"type": "string"}, "done": {"type": "boolean"}},
    "required": ["find", "replace", "done"],
    "additionalProperties": False,
}
TOOLS = ("edit_file", "write_file")
"""Tools into which an answer can be turned."""
NO_FILE = (
    "--edit-format constrained: there is no text file here that may be edited; create one, or use --edit-format tools"
)
ASK = (
    'Answer with one JSON object and nothing else: {"find": some lines of this file, copied exactly, "replace": what '
    'replaces them, "done": false}. Make one small change. If this file needs no change: '
    '{"find": "", "replace": "", "done": true}.'
)
_ASK_NEW = (
    "There is no file `{path}` yet. Answer with one JSON object and nothing else: "
    '{{"find": "", "replace": the whole text of the file, "done": false}}.'
)
_BY_NAME = 2
"""Rating of `_names` from which on a text mentions the file by name."""
_MOST_PER_TOKEN = 6
"""Characters per token at most: a file with one long line is cut."""
_HEAD = "The file `"
_MOST_FILES = 5_000
_MOST_TEXT = 100_000
"""Characters of a guarded file that are searched for names of other files."""


@dataclass(frozen=True, slots=True)
class FileSpace:
    """The part of the window that the shown file may use."""

    tokens: Sequence[tuple[float | None, int]]
    """For each share of the instructions (see `shorten_fixed`): the tokens that it leaves, largest first."""
    count: Callable[[str], int]
    """Counts the tokens of a text."""


class Constrained:
    """Constrained edits of one run. A file that the model skips is shown again after the others were shown as often."""

    def __init__(
        self,
        workspace: Workspace,
        facts: RunFacts,
        guard: Guard,
        denial_of: Callable[[str, str], str | None],
    ) -> None:
        """`denial_of` returns the user's rule that denies a path to a tool, or None."""
        self._workspace, self._facts, self._guard = workspace, facts, guard
        self._denial_of = denial_of
        self._skipped: dict[str, int] = {}
        self._path = ""
        self._is_new = False
        self.share: float | None = None
        """Share of the window for the project's instructions next to the shown file; None: the usual share."""

    def show(self, space: FileSpace) -> str | None:
        """Return the next file to edit with the question to the model; None: there is no file to edit."""
        missing = [path for path in self._facts.spec.predicates.until_file if self._is_missing(path)]
        if missing:
            self._path, self._is_new = missing[0], True
            return _ASK_NEW.format(path=self._path)
        self._is_new = False
        self.share = None
        for path in self._ranked():
            text = self._text(path)
            if text is not None:
                self._path = path
                return f"{_HEAD}{path}` as it is now{self._excerpt(path, text, space)}\n\n{ASK}"
        return None

    def read(self, answer: str) -> list[ToolCall]:
        """Return the tool call for the answer; empty if it is not such an object or asks for no change."""
        found = _object(answer)
        find, replace = found.get("find"), found.get("replace")
        if isinstance(find, str) and isinstance(replace, str) and find != replace:
            if self._is_new:
                return [_call("write_file", {"path": self._path, "content": replace})]
            return [
                _call("edit_file", {"path": self._path, "edits": [{"old_text": find, "new_text": replace}]}),
            ]
        if found.get("done") is True:
            self._skipped[self._path] = self._skipped.get(self._path, 0) + 1
        return []

    def _is_missing(self, path: str) -> bool:
        if self._denial_of("write_file", path):
            return False
        try:
            state = read_file_state(self._workspace, path)
        except (PathRefused, UnreadableFile):
            return False
        return not state.exists or not state.data

    def _text(self, path: str) -> str | None:
        """Return the text, or None if it is not editable text or a rule of the user denies it to the model."""
        if self._denial_of("read_file", path):
            return None
        try:
            state = read_file_state(self._workspace, path)
            return state.text() if state.exists and state.data and not why_not_editable(state) else None
        except (PathRefused, UnreadableFile):
            return None

    def _ranked(self) -> list[str]:
        """Return the editable files, most likely first: by the check's output, the task, and the tests."""
        outputs = "\n".join(check.output for check in self._facts.verdicts.checks.values() if not check.passed)
        files = self._files()
        test_texts = [
            text[:_MOST_TEXT]
            for path in files
            if self._guard.matches(path) and _names(path, outputs)
            if (text := self._text(path)) is not None
        ]
        known = self._facts.touched()
        task, words = self._facts.spec.task, _words(last_text(self._facts.main.messages) or "")
        scored: list[tuple[int, int, bool, str]] = []
        for path in files:
            if self._guard.matches(path):
                continue
            if self._denial_of("read_file", path) or self._denial_of("edit_file", path):
                continue
            in_task = _names(path, task)
            if in_task < _BY_NAME and self._workspace.caution(Path(path)) is not None:
                continue  # such a file is edited only if the task names it
            score = 8 * _names(path, outputs) + 6 * in_task + 9 * (_names(path, words) if path != self._path else 0)
            score += 2 * max((_names(path, text) for text in test_texts), default=0) + (path in known)
            is_hidden = path.startswith(".") or "/." in path
            scored.append((self._skipped.get(path, 0), -score, is_hidden, path))
        likely, others = [one for one in scored if one[1]], [one for one in scored if not one[1]]
        return [path for *_, path in (*sorted(likely), *sorted(others))]

    def _files(self) -> list[str]:
        found: list[str] = []
        for path, entry in Ignore(self._workspace.root, self._workspace.skipped).walk():
            if entry.is_file(follow_symlinks=False):
                found.append(path)
                if len(found) == _MOST_FILES:
                    break
        return found

    def _excerpt(self, path: str, text: str, space: FileSpace) -> str:
        """Return the whole text, or as much as fits around the line that the check names."""
        tokens = space.count(text)
        for share, most in space.tokens:
            if tokens <= most:
                self.share = share
                return f":\n```\n{text}\n```"
        self.share, most = space.tokens[-2]
        lines = text.splitlines(keepends=True)
        outputs = "\n".join(check.output for check in self._facts.verdicts.checks.values() if not check.passed)
        named = re.findall(rf"{re.escape(Path(path).name)}\D{{1,12}}(\d+)", outputs)
        middle = min(max(int(named[-1]) - 1 if named else 0, 0), len(lines) - 1)
        first, last = _around([space.count(line) for line in lines], middle, most)
        shown = "".join(lines[first : last + 1])[: most * _MOST_PER_TOKEN]
        return f", lines {first + 1} to {last + 1} of {len(lines)}:\n```\n{shown}\n```"


def _around(sizes: Sequence[int], middle: int, most: int) -> tuple[int, int]:
    """Return the first and last line around the middle whose sizes add up to at most `most`."""
    first = last = middle
    size = sizes[middle]
    while True:
        below = last + 1 < len(sizes) and size + sizes[last + 1] <= most
        if below:
            last += 1
            size += sizes[last]
        above = first > 0 and size + sizes[first - 1] <= most
        if above:
            first -= 1
            size += sizes[first]
        if not below and not above:
            return first, last


def plain_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation without calls and results, which not every small model's template supports, with
    alternating sides. Only the newest shown file stays.
    """
    shown = [i for i, message in enumerate(messages) if message.role == "user" and message.text.startswith(_HEAD)]
    out: list[Message] = []
    for i, message in enumerate(messages):
        role, text, images = message.role, message.text, message.images
        if i in shown[:-1]:
            text = f"({text.partition(chr(10))[0].rstrip(':')}was here.)"
        elif role == "tool":
            role, text = "user", f"Result of your edit: {text}"
        elif message.calls:
            text = text or message.calls[0].arguments
        if out and out[-1].role == role and role != "system":
            before = out.pop()
            text, images = f"{before.text}\n\n{text}", [*before.images, *images]
        out.append(Message(role=role, text=text, images=images))
    return out


def _names(path: str, text: str) -> int:
    """Rate how clearly the text names the file: 3 by path, 2 by name or module, 1 by stem, 0 not at all."""
    stem = path.rpartition(".")[0] or path
    module = stem.removesuffix("/__init__").replace("/", ".")
    name, last = path.rpartition("/")[2], stem.rpartition("/")[2]
    if "/" in path and _occurs(path, text):
        return 3
    if _occurs(name, text) and name != "__init__.py":
        return 2
    if "/" in stem and (_occurs(module, text) or _occurs(stem, text)):
        return 2
    return 1 if len(last) > 2 and _occurs(last, text) else 0


def _words(answer: str) -> str:
    """Return the text of the answer before and after its JSON object."""
    before, brace, rest = answer.partition("{")
    return f"{before} {rest.rpartition('}')[2]}" if brace else answer


def _occurs(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _object(answer: str) -> dict[str, Any]:
    """Return the first JSON object of the text, also in fences or with raw line ends in its strings; else an empty
    dict.
    """
    decoder = json.JSONDecoder(strict=False)
    for place in (match.start() for match in re.finditer(r"\{", answer)):
        try:
            found, _ = decoder.raw_decode(answer, place)
        except (ValueError, RecursionError):
            continue
        return cast("dict[str, Any]", found)
    return {}


def _call(tool: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall("", tool, msgspec.json.encode(arguments).decode())
