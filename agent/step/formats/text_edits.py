"""The shared part of both ways of editing in a file format: which texts the model may see, and what it is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import msgspec

from ...gate.draft import read_file_state
from ...host.file_errors import PathRefused, UnreadableFile
from ...host.files.file_states import why_not_editable
from ...protocol import FILE_FORMATS, Message, ToolCall
from ...tools.fit_text import lines_of
from .file_excerpt import choose_lines
from .format_words import FILE_HEAD

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...protocol import AnswerRead, Model, Prompted
    from ...state.facts.run_facts import RunFacts
    from ...tools.tool_context import ToolContext

TOOLS = ("write_file",)
"""Tools into which an answer can be turned."""
_MOST_PER_TOKEN = 6
"""Characters per token at most: a file with one long line is cut."""


@dataclass(frozen=True, slots=True)
class FileSpace:
    """The part of the window that the shown file may use."""

    tokens: Sequence[tuple[float | None, int]]
    """For each share of the instructions (see `shorten_fixed`): the tokens that it leaves, largest first."""
    model: Model
    """Counts the tokens of a text."""
    quickly_read: int | None = None
    """Tokens that the server reads without a long wait. None means that it is fast, or its speed is unknown."""


class TextEdits(ABC):
    """The edits of one run whose model answers with text."""

    has_tries: ClassVar[bool]
    """Whether a check judges each answer, and the loop may start over."""

    def __init__(self, workspace: Workspace, facts: RunFacts, tools: ToolContext) -> None:
        """`tools`: those of the run, which know what is denied to the model and what it has read."""
        self._workspace, self._facts, self._tools = workspace, facts, tools
        self.share: float | None = None
        """Share of the window for the project's instructions next to the shown file. None means the usual
        share."""
        self.notes: Sequence[Prompted] = ()
        """Messages about the newest answer, which follow the results of its calls."""

    @property
    def is_active(self) -> bool:
        """Whether the run uses a file format now."""
        return self._facts.answers.format in FILE_FORMATS

    @property
    @abstractmethod
    def asks_for_json(self) -> bool:
        """Whether the server is asked to answer with JSON of the schema."""

    @property
    @abstractmethod
    def temperature(self) -> float | None:
        """The temperature of the next answer. None means that of the server."""

    @property
    @abstractmethod
    def longest(self) -> int | None:
        """Tokens of the longest answer that is asked for. None means no limit."""

    @abstractmethod
    def show(self, space: FileSpace) -> Sequence[Prompted] | None:
        """Return the messages that show files to the model before its next answer.

        Returns None if there is no file to edit.
        """

    @abstractmethod
    def as_sent(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages as they are sent to a model without tools."""

    @abstractmethod
    def is_complete(self, said: str) -> bool:
        """Return whether the answer so far is complete, so that nothing more has to be added."""

    @abstractmethod
    def read(self, said: str) -> tuple[AnswerRead | None, list[ToolCall]]:
        """Read an answer. Returns the event that says what a try gives, and the calls that make the edits."""

    def _text(self, path: str) -> str | None:
        """Return the text, or None if it is not editable text or a rule of the user denies it to the model."""
        if self._tools.denial_of("read_file", path):
            return None
        try:
            state = read_file_state(self._workspace, path)
            if not state.exists or not state.data or why_not_editable(state):
                return None
            return state.text().replace("\r\n", "\n").replace("\r", "\n")
        except (PathRefused, UnreadableFile):
            return None

    def call_of(self, path: str, text: str, *, from_text: bool = False) -> ToolCall:
        """Return the call that writes a file whose present content was shown."""
        seen = None
        with suppress(PathRefused, UnreadableFile):
            state = read_file_state(self._workspace, path)
            count = len(lines_of(state.text()))
            seen = self._tools.seen(state, 1, count, count)
        arguments = msgspec.json.encode({"path": path, "content": text}).decode()
        return ToolCall("", TOOLS[0], arguments, from_text, seen)


def whole_excerpt(path: str, text: str) -> str:
    """Return a file with its heading."""
    fence = "````" if "```" in text else "```"
    end = "" if text.endswith("\n") else "\n"
    return f"{FILE_HEAD}{path}`:\n{fence}\n{text}{end}{fence}"


def part_excerpt(
    path: str, text: str, limit: int, count: Callable[[str], int], output: str = "", tests: str = ""
) -> str:
    """Return the lines of a file that the output of a check and the tests are about, at most `limit` tokens."""
    fence = "````" if "```" in text else "```"
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")]
    parts = choose_lines(path, text, output, tests, count=count, limit=limit)
    named = ", ".join(f"{first + 1} to {last + 1}" for first, last in parts)
    shown = ["".join(lines[first : last + 1])[: limit * _MOST_PER_TOKEN].rstrip("\n") for first, last in parts]
    blocks = "\n".join(f"{fence}\n{one}\n{fence}" for one in shown)
    return f"{FILE_HEAD}{path}`, lines {named} of {len(lines)}:\n{blocks}"


def one_turn(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with neighbours of one side joined, because not every template accepts two in a row."""
    out: list[Message] = []
    for one in messages:
        if out and out[-1].role == one.role == "user":
            before = out.pop()
            text, images = f"{before.text}\n\n{one.text}", [*before.images, *one.images]
            out.append(Message(role="user", text=text, images=images))
        else:
            out.append(one)
    return out
