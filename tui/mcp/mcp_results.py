"""The results of the tools. Texts in them come from models, files and commands: they are data, never instructions."""

from __future__ import annotations

import msgspec

from ..control.run_status import StatusWord


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    pass


class RunRow(_Result, frozen=True, kw_only=True):
    """One run in a list."""

    run: str
    state: str
    task: str
    folder: str
    model: str
    started: float
    """Unix seconds."""
    reason: str = ""
    detail: str = ""
    complete: bool = False
    evidence: str = ""
    steps: int = 0
    usd: float | None = None
    """None: a call had no known price."""


class RunList(_Result, frozen=True, kw_only=True):
    """The rows of `list_runs`, and how many more runs match."""

    runs: list[RunRow]
    more: int = 0
    """Number of further runs that fit."""


class Limit(_Result, frozen=True, kw_only=True):
    """The use of one limit."""

    name: str
    used: float | None
    """None: unknown, because a call had no known price."""
    limit: float | None


class Proposal(_Result, frozen=True, kw_only=True):
    """A change or command that waits at the gate."""

    digest: str
    """Names exactly this change or command in a decision."""
    tool: str
    path: str = ""
    command: str = ""
    diff: str = ""
    server: str = ""
    """The MCP server whose tool the run wants to call."""
    call: str = ""
    """The arguments of that call."""
    asks: list[str] = []
    """Why it waits."""
    added: int = 0
    removed: int = 0
    needs_person: bool = False
    """It concerns something guarded or protected, so no client can approve it."""
    conflict: str = ""
    """Why it does not fit its file any more: it can only be rejected here."""


class Entry(_Result, frozen=True, kw_only=True):
    """One entry of the transcript."""

    kind: str
    step: int | None
    title: str = ""
    text: str = ""
    note: str = ""


class Ended(_Result, frozen=True, kw_only=True):
    """The outcome of a run."""

    reason: str
    detail: str
    complete: bool
    answer: str = ""
    evidence: str = ""
    approved_by: list[str] = []
    """MCP clients that approved changes or commands in place of a person."""
    files_changed: list[str] = []
    jobs_ended: str = ""
    """Background commands that still ran, and were ended with the run."""


class RunView(_Result, frozen=True, kw_only=True):
    """The state of a run."""

    run: str
    seq: int
    """Number of the newest event, for `seen` of wait_for_run."""
    status: StatusWord
    waits_for: str = ""
    """What it waits for: a decision at the gate, an answer, a message."""
    task: str = ""
    folder: str = ""
    model: str = ""
    gate: str = ""
    started_by: str = ""
    activity: str = ""
    spent: list[Limit] = []
    proposals: list[Proposal] = []
    question: str = ""
    suspect: str = ""
    """Why a passing check does not count. Only a person can accept it."""
    messages: list[Entry] = []
    outcome: Ended | None = None
    notes: list[str] = []


class Waited(_Result, frozen=True, kw_only=True):
    """The state of the run after `wait_for_run`, and whether it changed."""

    changed: bool
    """False: the time was over first."""
    view: RunView


class Piece(_Result, frozen=True, kw_only=True):
    """A piece of a long text."""

    text: str
    total: int
    """Characters of the whole text."""
    next_offset: int | None = None
    """None: this was the last piece."""


class Done(_Result, frozen=True, kw_only=True):
    """The result of a tool that controls a run."""

    run: str
    done: str
    """What was done, in words."""


class FoundRow(_Result, frozen=True, kw_only=True):
    """One finding of a search."""

    key: str
    title: str
    state: str
    verdict: str
    file: str
    line: int | None
    claim: str


class FoundList(_Result, frozen=True, kw_only=True):
    """One page of the findings, and where the next one begins."""

    findings: list[FoundRow]
    total: int
    next_offset: int | None = None


class Text(_Result, frozen=True, kw_only=True):
    """A document of a run, such as the one of its hand-off."""

    text: str
