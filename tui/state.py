"""What a view of a run knows: plain data, written by `reduce` alone, read by the widgets. No textual in here."""

from __future__ import annotations

from dataclasses import dataclass, field

from rundry.agent import (
    Budget,
    CheckFinished,
    GateMode,
    LoopKind,
    ProposalOpened,
    QuestionAsked,
    RunEnded,
    Sleeping,
    Spent,
)


@dataclass(slots=True)
class Block:
    """One entry of the transcript. The reducer alone changes it, and bumps `version` each time."""

    kind: str
    """`task`, `say`, `steer`, `text`, `reasoning`, `tool`, `edit`, `command`, `check`, `fault`, `note`, `stall`,
    `prompted`, `outcome`, `question` or `unknown`."""
    seq: int
    step: int | None
    work: str | None
    at: float
    """Unix seconds."""
    text: str = ""
    """Raw: a widget sends it through `tui.text`."""
    title: str = ""
    """`read src/calc.py`, `check pytest -q`."""
    status: str = ""
    """`running`, `ok`, `failed`, `waiting`, `approved`, `rejected`, `part`, `passed`, `cut` or nothing."""
    right: str = ""
    """`84 lines`, `2 of 3 hunks approved`."""
    seconds: float | None = None
    detail: str = ""
    """Folded content: a tool's result, a diff, a check's output."""
    detail_kind: str = "text"
    """`text`, `diff` or `json`."""
    open: bool = False
    """Unfolded."""
    live: bool = False
    """Still growing."""
    version: int = 0


@dataclass(slots=True)
class Message:
    """A message of the person that waits for the step's end."""

    queued_id: int
    text: str


@dataclass(slots=True)
class ViewState:
    """All that a view of one run shows."""

    blocks: list[Block] = field(default_factory=list["Block"])
    changed_from: int = 0
    """Blocks before this index are as they were when the view last took them."""

    run_id: str = ""
    loop: LoopKind | None = None
    task: str = ""
    goal: str = ""
    """The check's command, where there is one."""
    workspace: str = ""
    journal: str = ""
    model: str = ""
    local: bool = False
    priced: bool = True
    window: int | None = None
    """Tokens."""
    sandbox: str | None = None
    gate_mode: GateMode = GateMode.ASK

    budget: Budget | None = None
    spent: Spent = field(default_factory=Spent)
    prompt_tokens: int = 0
    """Of the newest call: what fills the window."""

    step: int = 0
    dry: tuple[int, int] | None = None
    """Dry passes in a row, and how many are asked for."""

    check: CheckFinished | None = None
    failing_before: int | None = None
    """What the check counted the first time."""
    proposals: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Those that wait for the person, oldest first, re-based ones as they are now."""
    question: QuestionAsked | None = None
    queue: list[Message] = field(default_factory=list[Message])
    sleeping: Sleeping | None = None
    sleeping_since: float = 0.0
    plan: list[str] = field(default_factory=list[str])
    outcome: RunEnded | None = None

    def take_changes(self) -> int:
        """The index from which blocks changed since the last call."""
        first, self.changed_from = self.changed_from, len(self.blocks)
        return first
