"""The specification of a run: everything that `resume` needs to start it again."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, get_args

import msgspec

from .budget import Budget
from .extensions.hooks import Hook
from .extensions.skills import Skill
from .finder_settings import FinderSpec, RepeatSpec, ReviewLoopSpec
from .loops import FixSpec, GoalTries, ImproveSpec, IntervalSpec, LoopKind, PacedSpec, ParentRef
from .messages import ImageRef
from .tools.mcp import McpServer

FileFormat = Literal["functions", "whole", "blocks", "constrained"]
"""How a model edits the one file that the program shows it: complete functions, the whole file or search and replace in
a fenced block, or a JSON object."""
FILE_FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
EditFormat = Literal["auto", "tools", FileFormat]
"""How the model edits files. `auto`: chosen for the model when the run starts."""
AUTO_FORMAT: EditFormat = "auto"
BY_TOOLS: EditFormat = "tools"
EDIT_FORMATS: tuple[EditFormat, ...] = (AUTO_FORMAT, BY_TOOLS, *FILE_FORMATS)
CONSTRAINED: FileFormat = "constrained"
CHAT_FORMATS: tuple[FileFormat, ...] = tuple(form for form in FILE_FORMATS if form != CONSTRAINED)
"""The file formats of a chat. The schema of the other one leaves no room for an answer in words."""
EffortLevel = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
"""How much a model should reason."""
EFFORTS: tuple[EffortLevel, ...] = get_args(EffortLevel)
RuleVerdict = Literal["allow", "ask", "deny"]
OnAsk = Literal["refuse", "handoff"]
"""What a run without a person does when it would have to ask."""
ON_ASK: tuple[OnAsk, ...] = get_args(OnAsk)
OnStall = Literal["handoff", "stop"]
ON_STALL: tuple[OnStall, ...] = get_args(OnStall)
DIAGNOSTICS = ("on", "off")
"""Values of `--diagnostics`."""
TierKind = Literal["person", "model", "command"]
SearchProvider = Literal["searxng", "brave", "tavily"]
SEARCH_PROVIDERS: tuple[SearchProvider, ...] = get_args(SearchProvider)


class GateMode(StrEnum):
    """What the gate allows without asking a person (docs/requirements.md 6.2)."""

    READ = "read"
    ASK = "ask"
    EFFECTS = "effects"
    EDITS = "edits"
    AUTO = "auto"
    STAGE = "stage"


class Verify(StrEnum):
    """When the check of a goal run is executed."""

    EVERY_STEP = "every-step"
    ON_CHANGE = "on-change"
    ON_CLAIM = "on-claim"


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """The name that litellm uses (`openai/gpt-x`, `ollama_chat/qwen3:8b`), or `demo/NAME` for the scripted model."""
    api_base: str | None = None
    context: int | None = None
    """Size of the context window in tokens, if the user set it."""
    price: tuple[float, float] | None = None
    """USD per million tokens, for input and output, if the user set them."""
    key_from: str | None = None
    """Name of the environment variable that contains the key, if it is not the provider's usual one."""
    effort: EffortLevel | None = None
    """None means the provider's default."""
    params: dict[str, Any] = {}
    """Additional fields of the request body, as documented by the provider."""
    headers: dict[str, str] = {}
    """Additional headers of each request. `${NAME}` stands for an environment variable, so that no secret is stored."""
    max_output: int | None = None
    """Most tokens of one answer, if the user set it."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the gate's policy. `deny` has priority over `ask`, and `ask` over `allow`."""

    verdict: RuleVerdict
    tool: str | None = None
    path: str | None = None
    """A glob, relative to the workspace."""
    command: str | None = None
    """The first words of a command: `git status` also matches `git status -s`, but no other command."""
    host: str | None = None
    """A host of web requests: `docs.python.org`, `*.example.org`, `127.0.0.1:8000`."""


class SandboxRules(msgspec.Struct, frozen=True, kw_only=True):
    """The user's changes to the sandbox of commands."""

    env: list[str] = []
    """Names and patterns of additional environment variables that commands receive."""
    hide: list[str] = []
    """Paths that commands cannot read."""
    show: list[str] = []
    """Paths with secrets that commands can read nevertheless."""
    hosts: list[str] = []
    """Hosts that commands and checks can reach without network access: `pypi.org`, `*.npmjs.org`, `x.org:8443`."""
    live: list[str] = []
    """Folders of the workspace that background commands and MCP servers can write, besides those of build output."""


class GatePolicy(msgspec.Struct, frozen=True, kw_only=True):
    mode: GateMode = GateMode.ASK
    falls_back: bool = False
    """Nobody chose the mode: where commands cannot run in layers, the run begins in `ask` instead of `effects`."""
    unsandboxed_ok: bool = False
    """The person allowed commands in mode `auto` even without a sandbox."""
    network: bool = False
    """Commands and checks may use the network."""
    sandbox: SandboxRules = SandboxRules()
    rules: list[Rule] = []
    on_ask: OnAsk | None = None
    """None means that the gate refuses actions, and a question of the model (`ask_person`) causes a hand-off."""
    quotas: dict[str, str] = {}
    """Tool name to `N/min`, `N/hour` or `N/run`."""


class StallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When a run counts as stuck (docs/requirements.md 4.3, 4.4)."""

    window: int = 4
    """The same action with the same result this many times in a row is a stall."""
    tool_error_rate: float = 0.8
    """Share of failed calls (above 0, at most 1) that is a stall."""
    tool_error_calls: int = 10
    """Number of newest calls over which that share is computed."""


class Predicates(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that make a goal run `done` (docs/requirements.md 2.3)."""

    until: list[str] = []
    """Commands; exit code 0 means that the condition is met."""
    until_file: list[str] = []
    until_py: list[str] = []
    """`FILE:function`, run in a child process."""
    schema: str | None = None
    """Path of a JSON Schema that the final answer must match."""
    require: list[str] = []
    """`tool` or `tool:text`: actions that must have happened."""
    any: bool = False
    """Whether one predicate is enough."""
    verify: Verify = Verify.EVERY_STEP
    """When the check runs. Specs of older journals without this field ran it after every step."""
    guard: list[str] = []
    """Globs of files to guard in addition to the defaults; `none` alone turns the guard off."""
    scope: list[str] = []
    """Globs of files that the run may change in addition to the defaults."""
    about: list[str] = []
    """Files that the task is about: the run may change them too, unless they are tests, settings or run by a check."""
    timeout: float = 300.0
    """Time limit of one check, in seconds."""
    confirm: bool = False
    """When the checks pass, they must also pass in a clean checkout of the result."""
    confirm_with: str | None = None
    """The command that must pass in the clean checkout instead of the checks."""
    holdout: str | None = None
    """The second check: a command that must pass after the judge let a result pass. The model never gets its output."""
    holdout_files: list[str] = []
    """Globs of the files of the second check: nothing else sees them."""
    setup: str | None = None
    """The command that prepares a fresh checkout, for the views of the judge."""

    @property
    def confirming(self) -> list[str]:
        """The commands that must pass in a clean checkout. Empty means that the result is not confirmed."""
        if self.confirm_with is not None:
            return [self.confirm_with]
        return self.until if self.confirm else []

    @property
    def words(self) -> str:
        """The conditions in one line. Empty means that there are none."""
        files = [f"{path} exists" for path in self.until_file]
        schema = [] if self.schema is None else [f"the answer fits {self.schema}"]
        return ", ".join([*self.until, *files, *self.until_py, *schema, *self.require])

    @property
    def exist(self) -> bool:
        return bool(self.until or self.until_file or self.until_py or self.schema or self.require)


class HandoffTier(msgspec.Struct, frozen=True, kw_only=True):
    """One tier of a hand-off: who is asked, and for how long."""

    kind: TierKind
    after: float | None = None
    """Seconds until the next tier is asked. None means never, as long as somebody can still answer."""
    model: ModelSpec | None = None
    """The model of a `model` tier."""
    run: str | None = None
    """The command line of a `command` tier."""

    @property
    def name(self) -> str:
        """The tier as text: `a person`, `openai/gpt-x`, `mail-me`."""
        if self.model is not None:
            return self.model.name
        return self.run if self.run is not None else "a person"


class FilledFile(msgspec.Struct, frozen=True, kw_only=True):
    """The spec file of a run. What it says is in the spec already: a resumed run does not read it."""

    path: str
    values: dict[str, str | int | float | bool] = {}
    """Values of its parameters, by name."""


class WebSearchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The provider of `web_search`."""

    engine: SearchProvider
    """Whose API it has."""
    api_base: str
    """Address of its server, without the path of a search."""
    key_from: str | None = None
    """Name of the environment variable that contains the key. None means that none is sent."""


class OtelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where the spans of a run are sent, and what they contain. The standard variables count more."""

    endpoint: str | None = None
    """Address of a collector, with or without `/v1/traces`. None means that only the standard variables can name
    one."""
    content: bool = False
    """Spans contain the task, answers, arguments and results."""


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The complete specification of one run, stored in the journal. A resumed run starts from it and the events."""

    run_id: str
    loop: LoopKind
    task: str
    """The task. Empty in a chat that has no first message yet."""
    first_message: str | None = None
    """The first message to the model, if it is not the task: a pass that is a run also gets what earlier ones did."""
    images: list[ImageRef] = []
    """Images of the task; the view has already stored their content in the journal."""
    workspace: str
    """Absolute path with symbolic links resolved."""
    model: ModelSpec
    budget: Budget = Budget()
    usd_asked: bool = False
    """The user set the USD limit, so the run refuses a remote model without a known price."""
    gate: GatePolicy = GatePolicy()
    mcp: list[McpServer] = []
    """MCP servers whose tools the run offers to its model."""
    predicates: Predicates = Predicates()
    stalls: StallLimits = StallLimits()
    on_stall: OnStall | None = None
    """None means `handoff` if a view is attached, otherwise `stop`."""
    escalate: ModelSpec | None = None
    """The model that replaces the current one, once, if the hint after a stall did not help."""
    tiers: list[HandoffTier] = []
    """The tiers that a hand-off asks, in order. Empty means the person, if a view is attached."""
    notify: str | None = None
    """The user's own command for notifications."""
    otel: OtelSpec | None = None
    """Settings of OpenTelemetry. None means that the user has none."""
    web_search: WebSearchSpec | None = None
    """The provider of `web_search`. None means that the tool is not offered."""
    attended: bool = False
    """The run was started from a person's screen."""
    started_by: str = "person"
    """`person`, also for a script, or the MCP client (`mcp:NAME`) that started the run."""
    answers_in_text: bool = False
    """A goal run without a check ends when the model has answered without calling a tool (`--print`)."""
    instructions: str | None = None
    """Path of the project instructions, if the workspace has any (`AGENTS.md`, `CLAUDE.md`)."""
    skills: list[Skill] = []
    """Skills that the model can load."""
    hooks: list[Hook] = []
    """Commands that run on events of the run and can refuse."""
    item_steps: int = 15
    """Maximum number of steps of one item or lens."""
    command_timeout: float = 120.0
    """Time limit in seconds for a command, if the model does not give one."""
    diagnostics: bool = True
    """After an edit, tools of the project look at the files that it changed."""
    park: float | None = 1800.0
    """Seconds for which the process waits for a person while no view is attached. None means no limit."""
    finder: FinderSpec | None = None
    """Settings of an `until-dry` run."""
    interval: IntervalSpec | None = None
    """Settings of an `interval` run."""
    paced: PacedSpec | None = None
    """Settings of a `paced` run."""
    improve: ImproveSpec | None = None
    """Settings of an `improve` run."""
    tries: GoalTries | None = None
    """Settings of a `goal` run with tries. None means that it works in the workspace itself."""
    fix: FixSpec | None = None
    """Settings of a `fix` run."""
    then: RunSpec | None = None
    """In a run that makes a plan: the run that will carry it out, without the plan and its check."""
    plan: list[str] = []
    """The steps of the accepted plan that this run carries out."""
    plan_of: str | None = None
    """Id of the run in which that plan was accepted."""
    repeat: RepeatSpec | None = None
    """Settings of a `repeat` run."""
    review: ReviewLoopSpec | None = None
    """Settings of a `review` run."""
    parent: ParentRef | None = None
    """The run that started this one. None means that a person or a script did."""
    needs_finish: bool = False
    """The predicates held before the run, so they make it `done` only after the model has called `finish`."""
    guarded_commands: list[str] = []
    """Commands whose files are out of the scope like those of a check, although this run does not execute them."""
    edit_format: EditFormat = BY_TOOLS
    """In a file format, the program chooses the file."""
    restarts: int | None = None
    """How often the run may start over after an answer that does not pass the check. None means as often as its limits
    allow."""
    commit: bool = False
    """Each approved edit of the model becomes its own git commit."""
    commit_hooks: bool = False
    """The commits of the run execute the repository's hooks, in the sandbox."""
    stage_patch: str | None = None
    """File for a patch of what is staged at the end of the run."""
    starts_children: bool = True
    """A chat offers `start_child`. False for a view that does not show what a child run asks."""
    tools: list[str] = []
    """The only tools that the model gets, with those that end the task. Empty means all."""
    file: FilledFile | None = None
    """The spec file from which the run was made, if there is one."""
    extra: dict[str, Any] = {}
    """Settings of later loops (lenses, clock, score), by loop kind."""

    @property
    def opening(self) -> str:
        """The first message to the model."""
        return self.first_message or self.task

    @property
    def has_children(self) -> bool:
        """Whether the run starts child runs."""
        return self.loop.traits.has_children or (self.improve is not None and self.improve.pass_loop is not None)

    @property
    def has_units(self) -> bool:
        """Whether it works in passes, tries or items, each apart from the workspace until it is applied."""
        has_passes = self.interval is not None or self.improve is not None or self.tries is not None
        return has_passes or (self.finder is not None and self.finder.check is not None)

    @property
    def changes_files(self) -> bool:
        """Whether the run itself may change files. Most searches only read, as a run does that makes a plan; child runs
        change what they need.
        """
        if self.loop.traits.has_children or not self.loop.traits.changes:
            return False
        return self.finder is None or self.finder.traits.changes_files

    @property
    def home(self) -> str:
        """The user's folder: the workspace, or the folder that the workspace is a worktree or a copy of."""
        passes, search = self.interval or self.improve, self.finder
        if search is not None and search.review is not None and search.review.home:
            return search.review.home
        return (passes.branch.worktree_of if passes is not None else None) or self.workspace


def edit_format_named(name: str) -> EditFormat | None:
    """Return the edit format with this name, or None if there is none."""
    by_name: dict[str, EditFormat] = {form: form for form in EDIT_FORMATS}
    return by_name.get(name)


def edit_format_problem(spec: RunSpec, form: EditFormat) -> str | None:
    """Return why the model of this run cannot edit in this format, in words for the person, or None if it can."""
    if spec.loop is LoopKind.CHAT:
        if form in FILE_FORMATS and form not in CHAT_FORMATS:
            usable = f"{', '.join(CHAT_FORMATS[:-1])} or {CHAT_FORMATS[-1]}"
            return f"{form} needs a check (--until CMD): a chat uses {usable}"
        return None
    wanted = spec.predicates
    if spec.loop is not LoopKind.GOAL:
        return f"{spec.loop.a_run} edits with tools: only a chat and a goal run with a check have other edit formats"
    if form == BY_TOOLS:
        return None
    if not (wanted.until or (form != AUTO_FORMAT and wanted.until_file)):
        return f"{form} needs a check: give one with --until CMD"
    excluding = {
        "--require": wanted.require,
        "--schema": wanted.schema,
        "--until-py": wanted.until_py,
        "--commit": spec.commit,
        "--tries": spec.tries,
    }
    option = next((name for name, value in excluding.items() if value), None)
    return None if option is None else f"{form} does not work with {option}: start the run without one of them"
