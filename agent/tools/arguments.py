"""The arguments of the model's tools (REQUIREMENTS 13.4)."""

from __future__ import annotations

import msgspec


class ReadFile(msgspec.Struct, frozen=True):
    """Lines are 1-based, the end included."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


class ListFiles(msgspec.Struct, frozen=True):
    """`pattern` is a glob."""

    path: str | None = None
    pattern: str | None = None


class Search(msgspec.Struct, frozen=True):
    """`pattern` is a regular expression."""

    pattern: str
    path: str | None = None


class Edit(msgspec.Struct, frozen=True):
    """One block that is replaced."""

    old_text: str
    new_text: str


class EditFile(msgspec.Struct, frozen=True):
    """Blocks in `edits`, or one that stands flat."""

    path: str
    edits: list[Edit] = []
    old_text: str | None = None
    new_text: str | None = None

    def __post_init__(self) -> None:
        flat = self.old_text is not None or self.new_text is not None
        if flat and (self.old_text is None or self.new_text is None):
            raise ValueError("old_text and new_text belong together")
        if not flat and not self.edits:
            raise ValueError("`edits` is missing: a list of {old_text, new_text}")

    def blocks(self) -> list[Edit]:
        """All of them, in order."""
        flat = [] if self.old_text is None or self.new_text is None else [Edit(self.old_text, self.new_text)]
        return [*self.edits, *flat]


class WriteFile(msgspec.Struct, frozen=True):
    """The whole new content."""

    path: str
    content: str


class RunCommand(msgspec.Struct, frozen=True):
    """`timeout` in seconds."""

    command: str
    timeout: float | None = None


class AskPerson(msgspec.Struct, frozen=True):
    """A question, and answers to choose from."""

    question: str
    options: list[str] = []


class Citation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an answer comes from."""

    path: str
    line: int | None = None
    quote: str | None = None


class Finish(msgspec.Struct, frozen=True):
    """A citation may also be `path` or `path:line`."""

    answer: str
    citations: list[str | Citation] = []


class UpdatePlan(msgspec.Struct, frozen=True):
    """The plan as it stands now, one step a line."""

    lines: list[str]
