"""The arguments of the model's tools (docs/requirements.md 13.4)."""

from __future__ import annotations

import math
from typing import Literal

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


class FetchUrl(msgspec.Struct, frozen=True):
    """An absolute http(s) URL."""

    url: str


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


class StartCommand(msgspec.Struct, frozen=True):
    """A command that runs on beside the steps."""

    name: str
    command: str


class StopCommand(msgspec.Struct, frozen=True):
    """Which of them is to end."""

    name: str


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


class ReportedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is worth looking at: a `url`, `file` or `value`."""

    kind: str
    value: str


class ReportedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found. `evidence`: `path:line`, a URL, or a quote."""

    title: str
    detail: str = ""
    evidence: str = ""
    key: str | None = None


class Report(msgspec.Struct, frozen=True):
    """What a searcher brings back."""

    found_new: bool = False
    reason: str = ""
    items: list[ReportedItem] = []
    findings: list[ReportedFinding] = []


class Judge(msgspec.Struct, frozen=True):
    """A sceptic's answer."""

    verdict: Literal["refuted", "stands", "duplicate"]
    reason: str
    duplicate_of: str | None = None


class ProposedLens(msgspec.Struct, frozen=True):
    """A way to look that nobody tried."""

    name: str
    prompt: str


class Propose(msgspec.Struct, frozen=True):
    """The completeness critic's answer."""

    reason: str
    lens: ProposedLens | None = None


class WakeAfter(msgspec.Struct, frozen=True):
    """`seconds` from now; what is too short or too long is moved, and said."""

    seconds: float
    reason: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.seconds) or self.seconds < 0:
            raise ValueError(f"seconds is {self.seconds:g}: give a number of seconds, such as 270")
