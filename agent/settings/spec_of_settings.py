"""Build the spec of a run from its settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from ..protocol import (
    AUTO_FORMAT,
    BY_TOOLS,
    ON_ASK,
    ON_STALL,
    Branch,
    Budget,
    EditFormat,
    GateMode,
    GatePolicy,
    HandoffTier,
    LoopKind,
    McpServer,
    ModelSpec,
    Predicates,
    RunSpec,
    SandboxRules,
    StallLimits,
    UserError,
    Verify,
    edit_format_problem,
)
from .default_limits import FIELDS, default_budget
from .handoff_tiers import same_server_model
from .loop_flags import (
    commit_hooks,
    commits,
    goal_tries_of,
    improve_of,
    in_worktree,
    interval_of,
    loop_by_flags,
    paced_of,
    pass_branch,
    require_pass_loop_fits,
)

if TYPE_CHECKING:
    from .settings import Settings, Source

_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
_NO_MODEL = "none"
"""The name of the model of a search by a worker alone."""


def to_spec(
    settings: Settings,
    *,
    task: str,
    run_id: str,
    workspace: Path,
    model: ModelSpec,
    headless: bool,
    prints_answer: bool = False,
    worktrees: Path | None = None,
) -> RunSpec:
    """Return the run spec. Raises UserError for a headless chat, and for a headless run without a task.

    `prints_answer`: without a check, an answer in text ends the run. `worktrees`: the folder for the worktrees of
    `--worktree`. None means that the spec is not used to create a run.
    """
    root = workspace.resolve()
    spec = RunSpec(
        run_id=run_id,
        loop=_loop(settings, task, headless=headless),
        task=task,
        workspace=str(root),
        model=model,
        usd_asked=settings.is_set("usd"),
        gate=_gate(settings),
        stage_patch=_stage_patch(settings),
        on_stall=settings.choice("on_stall", ON_STALL),
        stalls=_stalls(settings),
        item_steps=settings.need("item_steps", int),
        command_timeout=settings.need("command_timeout", float),
        diagnostics=settings["diagnostics"].value == "on",
        park=settings.get("park", float),
        escalate=_escalate_of(settings, model),
        tiers=_tiers_of(settings, model),
        notify=settings.hook,
        otel=settings.otel,
        web_search=settings.web_search,
        attended=not headless,
        instructions=_instructions(root),
    )
    branch = pass_branch(settings, root, run_id)
    spec = _for_loop(spec, settings, branch)
    return in_worktree(_ending_on_text(spec) if prints_answer else spec, branch, worktrees)


def _ending_on_text(spec: RunSpec) -> RunSpec:
    """Return the spec of a run that ends when the model answers in text, if nothing else ends it."""
    return msgspec.structs.replace(spec, answers_in_text=spec.loop is LoopKind.GOAL and not spec.predicates.exist)


def _for_loop(spec: RunSpec, settings: Settings, branch: Branch) -> RunSpec:
    """Add what depends on the kind of loop. Raises UserError for options that do not fit the loop."""
    loop = spec.loop
    made = msgspec.structs.replace(
        spec,
        hooks=settings.hooks,
        budget=budget_of(settings, loop),
        predicates=_with_second_check(settings, loop, _with_setup(settings, loop, _confirmed(settings, loop))),
        interval=interval_of(settings, branch) if loop is LoopKind.INTERVAL else None,
        paced=paced_of(settings) if loop is LoopKind.PACED else None,
        improve=improve_of(settings, branch) if loop is LoopKind.IMPROVE else None,
        mcp=_servers(settings),
        commit=commits(settings, loop),
        commit_hooks=commit_hooks(settings, loop),
        restarts=settings.get("restarts", int),
    )
    require_pass_loop_fits(settings, made)
    tries = goal_tries_of(settings, made)
    made = made if tries is None else msgspec.structs.replace(made, tries=tries, commit=False)
    return msgspec.structs.replace(made, edit_format=_edit_format(settings, made))


def _stalls(settings: Settings) -> StallLimits:
    return StallLimits(
        window=settings.need("window", int),
        tool_error_rate=settings.need("tool_error_rate", float),
        tool_error_calls=settings.need("tool_error_calls", int),
    )


def with_default_gate(spec: RunSpec, settings: Settings, *, headless: bool) -> RunSpec:
    """Return the spec with the mode of a chat or a goal run for which nobody chose one.

    On the screen it is `effects`; without one `stage`, unless somebody may come and decide (`--on-ask`).
    """
    if settings.is_set("gate") or spec.loop not in (LoopKind.CHAT, LoopKind.GOAL):
        return spec
    if headless and settings.is_set("on_ask"):
        return spec
    mode = GateMode.STAGE if headless else GateMode.EFFECTS
    gate = msgspec.structs.replace(spec.gate, mode=mode, falls_back=True)
    return msgspec.structs.replace(spec, gate=gate)


def _gate(settings: Settings) -> GatePolicy:
    mode = settings.get("gate", GateMode) or GateMode.ASK
    return GatePolicy(
        mode=mode,
        unsandboxed_ok=mode is GateMode.AUTO and settings["gate"].source == "flag",
        network=bool(settings["network"].value),
        sandbox=SandboxRules(
            env=settings.texts("sandbox_env"),
            hide=settings.texts("sandbox_hide"),
            show=settings.texts("sandbox_show"),
            hosts=settings.texts("sandbox_host"),
            live=settings.texts("layers_live"),
        ),
        rules=settings.rules,
        on_ask=settings.choice("on_ask", ON_ASK),
        quotas=settings.quota,
    )


def _stage_patch(settings: Settings) -> str | None:
    path = settings.get("stage_patch", str)
    if path is None:
        return None
    target = Path(path).expanduser().absolute()
    if not target.parent.is_dir() or target.is_dir():
        raise UserError(f"--stage-patch {path}: name a file in a folder that exists")
    return str(target)


def _servers(settings: Settings) -> list[McpServer]:
    """Return the MCP servers. Raises UserError if the user and the project name different ones alike."""
    found: dict[str, McpServer] = {}
    for server in settings.mcp:
        if found.setdefault(server.name, server) != server:
            raise UserError(f"[mcp.servers.{server.name}] is in the user's and in the project's config: rename one")
    return list(found.values())


def budget_of(settings: Settings, loop: LoopKind) -> Budget:
    """Return the limits that the user set, and the defaults of the loop for the others.

    Without a model, a step is an item of a worker: no default limits them, because the search ends when none is left.
    """
    chosen = {field: settings[name].value for name, field in FIELDS.items() if settings.is_set(name)}
    if settings["model"].value == _NO_MODEL:
        chosen.setdefault("steps", None)
    return msgspec.structs.replace(default_budget(loop), **chosen)


def _loop(settings: Settings, task: str, *, headless: bool) -> LoopKind:
    """Return the requested loop; otherwise `goal` if there is a check or the run is headless, else `chat`.

    Raises UserError for a loop that is impossible without a person or without a task.
    """
    loop = _chosen_loop(settings, headless=headless)
    if headless and not task.strip():
        raise UserError(
            'a headless run needs a task: rundry run --headless "TASK", or - to read it from standard input'
        )
    return loop


def _chosen_loop(settings: Settings, *, headless: bool) -> LoopKind:
    asked = settings.get("loop", LoopKind)
    if asked is LoopKind.CHAT and headless:
        raise UserError("a chat needs a person: leave --headless out, or use --loop goal")
    by_flags = loop_by_flags(settings, asked)
    if by_flags is not None:
        return by_flags
    if asked is not None:
        return asked
    return LoopKind.GOAL if headless or _predicates(settings).exist else LoopKind.CHAT


def _edit_format(settings: Settings, spec: RunSpec) -> EditFormat:
    """Return the edit format. Raises UserError for a file format in a run that does not fit it."""
    asked = settings["edit_format"]
    form = cast("EditFormat", asked.value)
    problem = None if form == BY_TOOLS else edit_format_problem(spec, form)
    if problem is None:
        return form
    if asked.source != "flag" or form == AUTO_FORMAT:
        return BY_TOOLS
    raise UserError(f"--edit-format {problem}")


def _predicates(settings: Settings) -> Predicates:
    return Predicates(
        until=settings.texts("until"),
        until_file=settings.texts("until_file"),
        until_py=settings.texts("until_py"),
        schema=settings.get("schema", str),
        require=settings.texts("require"),
        any=bool(settings["any"].value),
        verify=settings.get("verify", Verify) or Verify.ON_CHANGE,
        guard=settings.texts("guard"),
        scope=settings.texts("scope"),
        timeout=settings.need("check_timeout", float),
    )


def _confirmed(settings: Settings, loop: LoopKind) -> Predicates:
    """Return the predicates, with their confirmation if one is set. Raises UserError for an impossible confirmation."""
    wanted = _predicates(settings)
    with_ = settings.get("confirm_with", str)
    asked = next((name for name in ("confirm_with", "confirm") if settings[name].source == "flag"), None)
    option = f"--{(asked or '').replace('_', '-')}"
    if not (loop.traits.ends_on_predicates and wanted.exist):
        if asked is None:
            return wanted
        if not loop.traits.ends_on_predicates:
            raise UserError(f"{option}: {loop.a_run} does not end on a check; leave it out and use `rundry verify RUN`")
        raise UserError(f"{option}: there is nothing to confirm; give a check with --until CMD")
    if with_ is None and settings["confirm"].value and not wanted.until:
        if asked is None:
            return wanted
        raise UserError("--confirm runs the check again, and there is no --until CMD; give --confirm-with CMD instead")
    return msgspec.structs.replace(wanted, confirm=bool(settings["confirm"].value), confirm_with=with_)


def _with_setup(settings: Settings, loop: LoopKind, wanted: Predicates) -> Predicates:
    """Return the predicates with the setup of a run that is judged. Raises UserError if it is not."""
    if _is_judged(loop, wanted):
        return msgspec.structs.replace(wanted, setup=settings.get("setup", str))
    if settings["setup"].source == "flag":
        raise _not_judged("setup", loop, wanted)
    return wanted


def _with_second_check(settings: Settings, loop: LoopKind, wanted: Predicates) -> Predicates:
    """Return the predicates with the second check, if one is set. Raises UserError for an impossible one."""
    command, files = settings.get("holdout", str), settings.texts("holdout_files")
    asked = next((name for name in ("holdout", "holdout_files") if settings[name].source == "flag"), None)
    if command is None and not files:
        return wanted
    if not _is_judged(loop, wanted):
        if asked is None:
            return wanted
        raise _not_judged(asked, loop, wanted)
    if command is None or not files:
        raise UserError("--holdout CMD and --holdout-files GLOB need each other: name the files that only CMD may read")
    return msgspec.structs.replace(wanted, holdout=command, holdout_files=files)


def _is_judged(loop: LoopKind, wanted: Predicates) -> bool:
    """Return whether a result of such a run can be judged. Of searches, only migrations are: `rundry find` knows."""
    if loop.traits.has_search or loop is LoopKind.IMPROVE:
        return True
    return wanted.exist and loop in (LoopKind.GOAL, LoopKind.CHAT, LoopKind.INTERVAL, LoopKind.PACED)


def _not_judged(name: str, loop: LoopKind, wanted: Predicates) -> UserError:
    option = f"--{name.replace('_', '-')}"
    if wanted.exist:
        return UserError(f"{option}: the result of {loop.a_run} is not judged; leave it out")
    return UserError(f"{option}: no check decides about this run, so nothing is judged; give --until CMD")


def _escalate_of(settings: Settings, model: ModelSpec) -> ModelSpec | None:
    """Return the model that takes over after a stall, or None."""
    found = settings.get("escalate", ModelSpec)
    return None if found is None else _placed(found, model, settings["escalate"].source)


def _tiers_of(settings: Settings, model: ModelSpec) -> list[HandoffTier]:
    """Return the tiers of a hand-off, in the order in which they are asked."""
    setting = settings["tiers"]
    found: list[HandoffTier] = []
    for tier in cast("list[HandoffTier]", setting.value):
        other = None if tier.model is None else _placed(tier.model, model, setting.source)
        found.append(HandoffTier(kind=tier.kind, after=tier.after, model=other, run=tier.run))
    return found


def _placed(found: ModelSpec, model: ModelSpec, source: Source) -> ModelSpec:
    """Return a model that can take over, with its server.

    A server that the workspace names never gets a key (docs/requirements.md 11.4).
    """
    if found.api_base is None:
        placed = same_server_model(found.name, model)
    else:
        placed = ModelSpec(name=found.name, api_base=found.api_base, key_from="" if source == "project" else None)
    return placed if found.price is None else msgspec.structs.replace(placed, price=found.price)


def _instructions(root: Path) -> str | None:
    """Return the path of the project instructions, or None.

    A link out of the workspace is ignored, because its target would be sent to the model.
    """
    for name in _INSTRUCTIONS:
        path = root / name
        if path.is_file() and path.resolve().is_relative_to(root):
            return str(path)
    return None
