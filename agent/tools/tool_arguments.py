"""Arguments of the model's tools (docs/requirements.md 13.4)."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from ..protocol.text.plan_lines import line_of

LONGEST_WAIT, LONGEST_SLEEP = 86_400.0, 3_600.0
"""Seconds: the longest `at_most` and the longest `seconds` of `wait_for`."""
_PORTS = 65_536
LARGEST_PART = 90.0
"""Percent of the budget that one child run gets at most, so that the chat can use what it did."""


class ReadFile(msgspec.Struct, frozen=True):
    """Arguments of `read_file`. Lines are 1-based and the end is included."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


class ListFiles(msgspec.Struct, frozen=True):
    """Arguments of `list_files`. `pattern` is a glob."""

    path: str | None = None
    pattern: str | None = None


class Search(msgspec.Struct, frozen=True):
    """Arguments of `search`. `pattern` is a regular expression."""

    pattern: str
    path: str | None = None


class FetchUrl(msgspec.Struct, frozen=True):
    """Arguments of `fetch_url`: an absolute http(s) URL."""

    url: str


class WebSearch(msgspec.Struct, frozen=True):
    """Arguments of `web_search`."""

    query: str


class Edit(msgspec.Struct, frozen=True):
    """One block of text and its replacement."""

    old_text: str
    new_text: str


class EditFile(msgspec.Struct, frozen=True):
    """Arguments of `edit_file`: blocks in `edits`, or a single one in the top-level fields."""

    path: str
    edits: list[Edit] = []
    old_text: str | None = None
    new_text: str | None = None

    def __post_init__(self) -> None:
        flat = self.old_text is not None or self.new_text is not None
        if flat and (self.old_text is None or self.new_text is None):
            raise ValueError("old_text and new_text must both be given")
        if not flat and not self.edits:
            raise ValueError("`edits` is missing: a list of {old_text, new_text}")

    def blocks(self) -> list[Edit]:
        """Return all blocks in order."""
        flat = [] if self.old_text is None or self.new_text is None else [Edit(self.old_text, self.new_text)]
        return [*self.edits, *flat]


class WriteFile(msgspec.Struct, frozen=True):
    """Arguments of `write_file`: the whole new content."""

    path: str
    content: str


class RunCommand(msgspec.Struct, frozen=True):
    """Arguments of `run_command`. `timeout` is in seconds."""

    command: str
    timeout: float | None = None


class StartCommand(msgspec.Struct, frozen=True):
    """Arguments of `start_command`: a command that runs in the background."""

    name: str
    command: str


class StopCommand(msgspec.Struct, frozen=True):
    """Arguments of `stop_command`: which background command to end."""

    name: str


class WaitFor(msgspec.Struct, frozen=True):
    """Arguments of `wait_for`: exactly one of `job`, `file`, `port`, `seconds` and `person`. `at_most`: seconds."""

    job: str | None = None
    text: str | None = None
    file: str | None = None
    port: int | None = None
    seconds: float | None = None
    person: str | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        named = {"job": self.job, "file": self.file, "port": self.port, "seconds": self.seconds, "person": self.person}
        given = [name for name, value in named.items() if value is not None]
        if len(given) != 1:
            found = f"not {' and '.join(given)}" if given else "there is none"
            raise ValueError(f"give exactly one of job, file, port, seconds and person: {found}")
        if any(isinstance(value, str) and not value.strip() for value in named.values()):
            raise ValueError(f"{given[0]} is empty")
        if self.text is not None and (self.job is None or not self.text):
            raise ValueError("text is what the output of a job must contain: give it together with job")
        if self.port is not None and not 0 < self.port < _PORTS:
            raise ValueError(f"port is {self.port}: give a number from 1 to {_PORTS - 1}")
        if self.seconds is not None and not 0 < self.seconds <= LONGEST_SLEEP:
            raise ValueError(f"seconds is {self.seconds:g}: give a number up to {LONGEST_SLEEP:g}")
        if self.at_most is not None and not 0 < self.at_most <= LONGEST_WAIT:
            raise ValueError(f"at_most is {self.at_most:g}: give a number of seconds up to {LONGEST_WAIT:g}")


class AskPerson(msgspec.Struct, frozen=True):
    """Arguments of `ask_person`: a question, and answers to choose from."""

    question: str
    options: list[str] = []


class Citation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a file that supports an answer."""

    path: str
    line: int | None = None
    quote: str | None = None


class Finish(msgspec.Struct, frozen=True):
    """Arguments of `finish`. A citation is an object, or the text `path` or `path:line`."""

    answer: str
    citations: list[str | Citation] = []


class UpdatePlan(msgspec.Struct, frozen=True):
    """Arguments of `update_plan`: the whole plan as it is now. A step is a line, or an object with text and state."""

    lines: list[str | dict[str, Any]]

    def __post_init__(self) -> None:
        self.written()

    def written(self) -> list[str]:
        """Return the plan as lines. Raises ValueError for a step without a text, or with an unknown state."""
        written = [line if isinstance(line, str) else line_of(line) for line in self.lines]
        return [line for text in written for line in text.splitlines()]


class ProposePlan(msgspec.Struct, frozen=True):
    """Arguments of `propose_plan`: the steps of a plan, and the command that decides when its task is done."""

    steps: list[str]
    check: str | None = None


class ReportedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new item for the search: a `url`, `file` or `value`."""

    kind: str
    value: str


class ReportedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A result of the search. `evidence`: `path:line`, a URL, or a quote."""

    title: str
    detail: str = ""
    evidence: str = ""
    key: str | None = None


class Report(msgspec.Struct, frozen=True):
    """Arguments of `report`: what a searcher found."""

    found_new: bool = False
    reason: str = ""
    items: list[ReportedItem] = []
    findings: list[ReportedFinding] = []


class Judge(msgspec.Struct, frozen=True):
    """Arguments of `judge`: a verifier's verdict."""

    verdict: Literal["refuted", "stands", "duplicate"]
    reason: str
    duplicate_of: str | None = None


class ProposedLens(msgspec.Struct, frozen=True):
    """A new lens that the completeness critic suggests."""

    name: str
    prompt: str


class Propose(msgspec.Struct, frozen=True):
    """Arguments of `propose`: the completeness critic's answer."""

    reason: str
    lens: ProposedLens | None = None


class StartChild(msgspec.Struct, frozen=True):
    """Arguments of `start_child`. `part`: percent of what is left of the budget."""

    name: str
    task: str
    tools: list[str] = []
    part: float | None = None

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise ValueError("`task` is empty: the child run knows nothing else")
        if self.part is not None and not 0 < self.part <= LARGEST_PART:
            raise ValueError(f"part is {self.part:g}: give a percentage, 1 to {LARGEST_PART:g}")


class WakeAfter(msgspec.Struct, frozen=True):
    """Arguments of `wake_after`: `seconds` from now. A value out of range is adjusted, and the result says so."""

    seconds: float
    reason: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.seconds) or self.seconds < 0:
            raise ValueError(f"seconds is {self.seconds:g}: give a number of seconds, such as 270")
