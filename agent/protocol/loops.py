"""The kinds of loops: one row of traits for each, and the settings of the kinds that have any.

The decisions of a loop are in `agent/run/loops/`.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache

import msgspec

from .budget import Budget

WAKE = "wake_after"
"""The tool with which the model of a paced run chooses its delay."""
SMALL = Budget(steps=40, tokens=200_000, usd=0.50, seconds=600.0)
LARGE = Budget(steps=200, tokens=2_000_000, usd=5.0, seconds=3_600.0)
OF_CHILDREN = Budget(steps=None, tokens=2_000_000, usd=5.0, seconds=None)
"""For runs with child runs, whose budget a person must set. Steps and seconds of several runs say little, so only what
costs money has a default next to it."""

PROTECTED = ("main", "master")
"""Branches on which a pass must not commit, unless the user allows it."""
CACHE_TTL = 300.0
"""Seconds for which a prompt cache keeps its content, unless the provider or the user gives another value."""


_GOAL = """\
Continue until the goal is met. {goal}
You cannot end the run by saying that it is done. When you believe that it is, call `finish` with an answer and \
citations (`path` or `path:line` of files that you read or wrote)."""

_INTERVAL = """\
This task is repeated at fixed times; this conversation is one pass of it. {goal}
Do what the task needs now; if there is nothing to do, change nothing. Then call `finish` with an answer in one line \
and citations. Your changes are committed if the checks pass, and rolled back if they do not."""

_PACED = """\
When you have to wait for something, call `wake_after` with the seconds and the reason, instead of asking again and \
again."""

_IMPROVE = """\
A command prints a score; this conversation is one pass that tries to improve it. Make one change, then call `finish` \
with citations and an answer in one line that says what you tried. The program measures the score: a better result is \
kept, any other is rolled back."""

_PLAN = """\
Make a plan for the task; nothing is changed now. Read what you need, and ask the person with `ask_person` what only \
they can decide. Then call `propose_plan` with short steps that name files and functions, and with the check: one \
command line that passes only when the task is done. {goal}The person edits and accepts the plan. Another \
conversation, which knows nothing but the task and this plan, carries it out."""

_CHAT = "Answer the person. When the answer is complete, stop calling tools: the person speaks next."


class LoopKind(StrEnum):
    """A kind of loop, by its word for `--loop`."""

    CHAT = "chat"
    GOAL = "goal"
    NAIVE = "naive"
    UNTIL_DRY = "until-dry"
    INTERVAL = "interval"
    PACED = "paced"
    IMPROVE = "improve"
    FIX = "fix"
    REPEAT = "repeat"
    REVIEW = "review"
    PLAN = "plan"

    @property
    def a_run(self) -> str:
        """The loop kind in a sentence: `a goal run`, `an interval run`."""
        return f"a{'n' * (self.value[0] in 'aeiou')} {self} run"

    @property
    def traits(self) -> LoopTraits:
        """The traits of the loop kind."""
        return loop_traits(self)


class LoopTraits(msgspec.Struct, frozen=True, kw_only=True):
    """How the runs of a loop kind differ from others. The defaults are right for a new kind."""

    prompt: str = ""
    """The part of the system prompt for this loop. `{goal}` becomes the list of the success predicates."""
    budget: Budget = LARGE
    """The default budget (docs/requirements.md 3.1)."""
    tools: tuple[str, ...] = ("finish",)
    """The tools that the model gets in addition to those for reading, changing, planning and asking."""
    changes: bool = True
    """The model also gets the tools that change files, run commands and show a plan."""
    has_one_conversation: bool = False
    """The steps form one conversation, which a person can compact or rewind. Others have one for each pass or item."""
    ends_on_predicates: bool = False
    """The run ends when its predicates hold. They are tested before the first step, and can be confirmed."""
    has_passes: bool = False
    """The passes are recorded with their number, result and delay."""
    commits_passes: bool = False
    """The files of a pass are committed or rolled back as a whole."""
    has_search: bool = False
    """It works on the items of a search, which only `rundry find` describes."""
    has_children: bool = False
    """Its works are runs of their own, the child runs, which `rundry fix` describes."""
    is_chosen: bool = True
    """`--loop` can select it. Others have a command or an option of their own."""
    option: str | None = None
    """The option that selects this loop and that it needs, as it is named in the settings."""
    option_hint: str = ""
    """What that option says, for the error message about a missing one."""


@cache
def loop_traits(kind: LoopKind) -> LoopTraits:
    """Return the row of a loop kind."""
    match kind:
        case LoopKind.CHAT:
            traits = LoopTraits(prompt=_CHAT, budget=SMALL, tools=(), has_one_conversation=True)
        case LoopKind.GOAL:
            traits = LoopTraits(prompt=_GOAL, budget=SMALL, has_one_conversation=True, ends_on_predicates=True)
        case LoopKind.NAIVE:
            traits = LoopTraits(budget=SMALL, has_one_conversation=True)
        case LoopKind.UNTIL_DRY:
            traits = LoopTraits(has_search=True, is_chosen=False)
        case LoopKind.INTERVAL:
            hint = "say how often, with --every 5m"
            traits = LoopTraits(
                prompt=_INTERVAL, has_passes=True, commits_passes=True, option="every", option_hint=hint
            )
        case LoopKind.PACED:
            traits = LoopTraits(
                prompt=f"{_GOAL}\n\n{_PACED}",
                tools=(WAKE, "finish"),
                has_one_conversation=True,
                ends_on_predicates=True,
                has_passes=True,
            )
        case LoopKind.IMPROVE:
            traits = LoopTraits(
                prompt=_IMPROVE,
                has_passes=True,
                commits_passes=True,
                option="score",
                option_hint="say what prints the number, with --score CMD",
            )
        case LoopKind.FIX | LoopKind.REPEAT | LoopKind.REVIEW:
            traits = LoopTraits(budget=OF_CHILDREN, has_children=True, is_chosen=False)
        case LoopKind.PLAN:
            traits = LoopTraits(
                prompt=_PLAN,
                budget=SMALL,
                tools=("ask_person", "propose_plan"),
                changes=False,
                has_one_conversation=True,
                is_chosen=False,
            )
    return traits


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """Where passes work and commit."""

    protected: list[str] = msgspec.field(default_factory=lambda: list(PROTECTED))
    worktree_of: str | None = None
    """The user's folder, if the workspace is the run's own git worktree. None means that the workspace is the user's
    folder."""
    name: str | None = None
    """The branch that was created with that worktree."""


class IntervalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an interval run: a fresh pass at fixed times."""

    every: float
    """Seconds from the start of a pass to the start of the next."""
    branch: Branch = Branch()
    pass_steps: int = 30
    """Maximum number of steps of one pass."""


class PacedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a paced run: the model chooses the delay before its next step."""

    cache_ttl: float | None = CACHE_TTL
    """Lifetime of the prompt cache in seconds. None means that the model has no prompt cache."""
    ttl_asked: bool = False
    """The user set `cache_ttl`: it also applies to a model without a known cache."""


class Better(StrEnum):
    """The direction in which a score improves."""

    MAX = "max"
    MIN = "min"


class ImproveSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an improve run: passes that try to improve a score."""

    score: str
    """The command that prints the score."""
    goal: Better = Better.MAX
    patience: int = 3
    """The run ends after this many passes without an improvement, or without a measurement."""
    min_delta: float = 0.0
    """For the plateau, the best score improved if it changed by more than this. Any better result is kept."""
    repeat: int = 1
    """Number of measurements of each score; the median counts."""
    tries: int = 1
    """Tries per pass, each in files of its own; the best one is kept."""
    concurrency: int = 8
    """Maximum number of tries that run at the same time."""
    bounded: bool = False
    """The user set at least one finite limit."""
    branch: Branch = Branch()
    pass_steps: int = 15
    """Maximum number of steps of one pass."""
    pass_loop: LoopKind | None = None
    """The loop of the child run that works each pass. None means that each pass is a conversation of the run itself."""


class GoalTries(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a goal run with `--tries N`: each works in files of its own, and the check selects one."""

    tries: int
    concurrency: int = 8
    """Maximum number of tries that run at the same time."""
    pass_steps: int | None = None
    """Maximum number of steps of one try. None means an equal share of the run's limit."""

    def most_steps(self, limit: int | None) -> int | None:
        """Return the maximum number of steps of one try. `limit`: that of the run, or None if there is no limit."""
        if self.pass_steps is not None or limit is None:
            return None if self.pass_steps is None else int(self.pass_steps)
        return max(1, limit // self.tries)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What one child run works on: a finding of a search."""

    key: str
    title: str
    task: str
    """The task of the child run."""
    until: list[str]
    """The checks of the child run: the commands of the parent with the fields of this finding."""
    files: list[str] = []
    """Files of the finding. Journals of older versions have none."""


class FixSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a fix run: one goal run for each finding of a search, one after the other."""

    source: str
    """Id of the search."""
    targets: list[Target]


class ParentRef(msgspec.Struct, frozen=True, kw_only=True):
    """The run that started a child run."""

    run_id: str
    journal: str
    """Path of its journal, which holds the ledger of its budget."""
    number: int
    """Number of the child in its parent, from 1."""
    stages: bool = False
    """The child works in a stage, and its parent decides on what is staged when it has ended."""
