"""What a run is to do: everything that `resume` needs to start it again."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from .budget import Budget
from .clockwork import ImproveSpec, IntervalSpec, PacedSpec
from .finder import FinderSpec
from .messages import ImageRef

BY_TOOLS, CONSTRAINED = "tools", "constrained"
"""How the model makes an edit: with tools, or by a small JSON object that the program makes an edit of."""


EFFORTS = ("low", "medium", "high")
"""How much a model is to reason."""


class LoopKind(StrEnum):
    CHAT = "chat"
    GOAL = "goal"
    NAIVE = "naive"
    UNTIL_DRY = "until-dry"
    INTERVAL = "interval"
    PACED = "paced"
    IMPROVE = "improve"

    @property
    def a_run(self) -> str:
        """In a sentence: `a goal run`, `an interval run`."""
        return f"a{'n' * (self.value[0] in 'aeiou')} {self} run"


class GateMode(StrEnum):
    """What passes without a person (docs/requirements.md 6.2)."""

    READ = "read"
    ASK = "ask"
    EDITS = "edits"
    AUTO = "auto"


class Verify(StrEnum):
    """When the check runs."""

    EVERY_STEP = "every-step"
    ON_CHANGE = "on-change"
    ON_CLAIM = "on-claim"


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """As litellm knows it (`openai/gpt-x`, `ollama_chat/qwen3:8b`), or `demo/NAME` for the scripted model."""
    api_base: str | None = None
    context: int | None = None
    """Tokens of the window, where the user said so."""
    price: tuple[float, float] | None = None
    """USD per million tokens, in and out, where the user said so."""
    key_from: str | None = None
    """Name of the environment variable that holds the key, where it is not the provider's usual one."""
    effort: str | None = None
    """How much the model is to reason: `low`, `medium` or `high`; None: the provider's default."""
    params: dict[str, Any] = {}
    """Further fields of the request body, as the provider documents them."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the gate's policy. `deny` wins over `ask`, `ask` over `allow`."""

    verdict: str
    """`allow`, `ask` or `deny`."""
    tool: str | None = None
    path: str | None = None
    """A glob, relative to the workspace."""
    command: str | None = None
    """A command's first words: `git status` allows `git status -s`, and no other command."""


class SandboxRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the user changes about the surroundings that commands see."""

    env: list[str] = []
    """Names and patterns of variables that commands receive as well."""
    hide: list[str] = []
    """Paths that commands cannot read."""
    show: list[str] = []
    """Paths with secrets that commands can read all the same."""
    hosts: list[str] = []
    """Hosts that commands and checks reach although they have no network: `pypi.org`, `*.npmjs.org`, `x.org:8443`."""


class GatePolicy(msgspec.Struct, frozen=True, kw_only=True):
    mode: GateMode = GateMode.ASK
    unsandboxed_ok: bool = False
    """The person said that commands may pass in `auto` although no sandbox holds them."""
    network: bool = False
    """Commands and checks may use the network."""
    sandbox: SandboxRules = SandboxRules()
    rules: list[Rule] = []
    on_ask: str | None = None
    """What a run without a person does where it would have to ask: `refuse` or `handoff`.

    None: the gate refuses, and a question of the model (`ask_person`) hands off.
    """
    quotas: dict[str, str] = {}
    """Tool name to `N/min`, `N/hour` or `N/run`."""


class StallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When a run counts as stuck (docs/requirements.md 4.3, 4.4)."""

    window: int = 4
    """The same action with the same result so often in a row is a stall."""
    tool_error_rate: float = 0.8
    """Share of failed calls, above 0 to 1, that is a stall."""
    tool_error_calls: int = 10
    """How many of the newest calls that share is taken of."""


class Predicates(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a goal run `done` (docs/requirements.md 2.3)."""

    until: list[str] = []
    """Commands; exit code 0 is met."""
    until_file: list[str] = []
    until_py: list[str] = []
    """`FILE:function`, run in a child process."""
    schema: str | None = None
    """Path of a JSON Schema that the final answer must fit."""
    require: list[str] = []
    """`tool` or `tool:text`: actions that must have happened."""
    any: bool = False
    """One predicate is enough."""
    verify: Verify = Verify.EVERY_STEP
    guard: list[str] = []
    """Globs that are guarded besides the default ones; `none` alone switches the guard off."""
    timeout: float = 300.0
    """Seconds that one check may take."""
    confirm: bool = False
    """Once they hold, the checks must also pass in a clean checkout of the result."""
    confirm_with: str | None = None
    """The command that must pass there instead of the checks."""

    @property
    def confirming(self) -> list[str]:
        """The commands that must pass in a clean checkout; none: a result is not confirmed."""
        if self.confirm_with is not None:
            return [self.confirm_with]
        return self.until if self.confirm else []

    @property
    def exist(self) -> bool:
        return bool(self.until or self.until_file or self.until_py or self.schema or self.require)


class HandoffTier(msgspec.Struct, frozen=True, kw_only=True):
    """One that a hand-off asks, and for how long."""

    kind: str
    """`person`, `model` or `command`."""
    after: float | None = None
    """Seconds after which the next tier is asked. None: never, while there is someone to wait for."""
    model: ModelSpec | None = None
    """Of a `model` tier."""
    run: str | None = None
    """The command line of a `command` tier."""

    @property
    def name(self) -> str:
        """In words: `a person`, `openai/gpt-x`, `mail-me`."""
        if self.model is not None:
            return self.model.name
        return self.run if self.run is not None else "a person"


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One run, whole. Stored in the journal; a resumed run starts from it and the events."""

    run_id: str
    loop: LoopKind
    task: str
    """Empty in a chat that has no first message yet."""
    images: list[ImageRef] = []
    """Of the task; the view has stored their bytes in the journal."""
    workspace: str
    """Absolute, resolved."""
    model: ModelSpec
    budget: Budget = Budget()
    usd_asked: bool = False
    """The USD limit was asked for, not the default: an unpriced remote model is then refused."""
    gate: GatePolicy = GatePolicy()
    predicates: Predicates = Predicates()
    stalls: StallLimits = StallLimits()
    on_stall: str | None = None
    """`handoff` or `stop`; None: `handoff` where a view is attached, else `stop`."""
    escalate: ModelSpec | None = None
    """Takes over, once, where a stall's hint did not help."""
    tiers: list[HandoffTier] = []
    """Who is asked at a hand-off, one after the other; none: the person where a view is attached."""
    notify: str | None = None
    """A command of the person's own that calls them."""
    attended: bool = False
    """A person's screen started the run."""
    instructions: str | None = None
    """Path of the project instructions that were found (`AGENTS.md`, `CLAUDE.md`)."""
    item_steps: int = 15
    """Steps that one item or lens may take."""
    command_timeout: float = 120.0
    """Seconds that a command may take for which the model names no time-out."""
    park: float | None = 1800.0
    """Seconds that the process waits for a person while no view is attached. None: it waits without end."""
    finder: FinderSpec | None = None
    """Of an `until-dry` run."""
    interval: IntervalSpec | None = None
    """Of an `interval` run."""
    paced: PacedSpec | None = None
    """Of a `paced` run."""
    improve: ImproveSpec | None = None
    """Of an `improve` run."""
    edit_format: str = BY_TOOLS
    """`tools`, or `constrained`: the program picks the file, the model fills a small JSON object."""
    commit: bool = False
    """Each edit of the model that was let through becomes a git commit of its own."""
    commit_hooks: bool = False
    """The commits of the run execute the repository's hooks, in the sandbox."""
    extra: dict[str, Any] = {}
    """What later loops add (lenses, clock, score), by loop kind."""

    @property
    def home(self) -> str:
        """The user's folder: the workspace, unless that is a worktree of it."""
        passes = self.interval or self.improve
        return (passes.branch.worktree_of if passes is not None else None) or self.workspace
