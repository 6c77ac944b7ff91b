"""Give a run its layers, or copies for its units of work, and the views of its judge (0040); find its first mode."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from ...gate.policy import NOT_STARTED
from ...layers.copy_folder import has_copy
from ...layers.fitness import (
    Fitness,
    place_of_copies,
    place_of_orders,
    places_of,
    try_copies_of,
    try_workspace,
    unfit,
)
from ...layers.namespaces import Namespaces, NamespacesRefused
from ...layers.run_layers import RunLayers
from ...layers.start_copy import StartCopy, StartRefused, own_folder_in, start_name, sweep_starts
from ...layers.workspace_copies import size_of, skipped_in
from ...protocol import GateMode, LoopKind, Refusal, RunSpec
from ...protocol.text.counts import plural
from ...protocol.text.effect_words import size_words
from ...settings.search.executor import read_executor
from ...verdict.judge.judged_runs import is_judged
from .start_progress import with_progress

if TYPE_CHECKING:
    from pathlib import Path

    from ...host.workspace_paths import Workspace
    from ...sandbox.sandbox import Sandbox
    from .inputs import Inputs

_LIFTS = "`rundry doctor` prints the commands."
_SPEAKING = ("place", "sandbox")
"""Steps whose reason says what was tried."""


class FoundLayers(NamedTuple):
    """The layers of a run, or why it has none."""

    layers: RunLayers | None
    """None means that commands that belong to no unit of work write to the workspace itself."""
    why_none: str = ""
    """Why it has none. Empty means that it has."""
    is_news: bool = False
    """Whether a note gives the reason: this machine, this workspace or an option refuses layers, and not the kind of
    the run."""
    remedy: str = ""
    """How a person can change that."""
    recovered: tuple[str, ...] = ()
    """Lines for the user about what killed runs left in this workspace."""
    units: RunLayers | None = None
    """Where its passes, tries or items work: these layers, or copies. In other runs: the copy that its stage uses.

    None means that it has none."""
    copies: str = ""
    """A line about the copies, or empty if there are none."""
    why_no_copy: str = ""
    """Why its stage cannot be a copy either. Empty means that it can, or it needs none."""


async def layers_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> FoundLayers:
    """Return the layers of a run that works in this workspace. Raises Refusal if it needs copies and can have none."""
    spec = inputs.journal.spec
    why = _why_never(spec, sandbox)
    stage = await asyncio.to_thread(_left_stage, inputs, workspace)
    if not why and stage is not None and has_copy(stage):
        why = "the stage of this run is a copy of the workspace"
    found = FoundLayers(None, why) if why else await _layers(inputs, workspace, sandbox)
    if spec.loop is LoopKind.REVIEW and found.layers is None:
        lifts = found.remedy or _LIFTS
        raise Refusal(f"a review with --fix repairs in layers, which do not work here: {found.why_none}. {lifts}")
    if found.layers is not None:
        return found._replace(units=found.layers) if spec.has_units else found
    try:
        if spec.has_units:
            return await asyncio.to_thread(_with_copies, inputs, workspace, sandbox, found)
        if sandbox.kind is not None and _stages(inputs) and (stage is None or has_copy(stage)):
            return await asyncio.to_thread(_with_copies, inputs, workspace, sandbox, found)
    except OSError as error:
        if spec.has_units:
            head = f"{spec.loop.a_run} works in a copy of the workspace here, because {found.why_none}"
            raise Refusal(f"{head}, and none can be made: {error}") from error
        return found._replace(why_no_copy=str(error))
    return found


def _left_stage(inputs: Inputs, workspace: Workspace) -> Path | None:
    """Return the folder of the stage in which the run works, or None if it works in none, or the stage is gone."""
    name = inputs.facts.changes.stage
    places = places_of(workspace.root, inputs.journal.path.parent) if name is not None else []
    found = (place / "layers" / str(name) for place in places)
    return next((folder for folder in found if folder.is_dir()), None)


def _stages(inputs: Inputs) -> bool:
    """Return whether the run works in a stage, or would begin in one if that worked here."""
    facts, changes = inputs.facts, inputs.order.changes
    if facts.changes.stage is not None:
        return True
    return (changes.gate or facts.gate_mode) is GateMode.STAGE and not _why_never_staged(inputs.journal.spec)


def _with_copies(inputs: Inputs, workspace: Workspace, sandbox: Sandbox, found: FoundLayers) -> FoundLayers:
    """Give a run without layers copies for its units or its stage. Raises OSError."""
    spec, path, why = inputs.journal.spec, inputs.journal.path, found.why_none
    fit = try_copies_of(workspace.root, path.parent)
    if fit.place is None:
        raise OSError(f"there is no place for it: {fit.why}. `git init` makes one")
    at_workspace = sandbox.kind == "bubblewrap" and not _needs_folder(spec)
    layers = RunLayers(
        workspace, fit.place, path.stem, None, is_inside=fit.is_inside, copies=True, at_workspace=at_workspace
    )
    layers.others_write = True
    recovered = tuple(layers.recover())
    layers.base.mkdir(mode=0o700, parents=True, exist_ok=True)
    size = size_of(workspace.root, layers.base, skipped=skipped_in(workspace.root, layers.hidden))
    what, each = ("copies of the workspace", " each") if spec.has_units else ("a copy of the workspace", "")
    line = f"it works in {what} ({size.words(each)})"
    return found._replace(units=layers, recovered=recovered, copies=f"{line}, because {why}")


def _needs_folder(spec: RunSpec) -> bool:
    """Return whether others work in a unit too, so that it must be a folder: a run of a pass, or a cluster."""
    improve, finder = spec.improve, spec.finder
    return (improve is not None and improve.pass_loop is not None) or (
        finder is not None and finder.executor is not None
    )


async def _layers(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> FoundLayers:
    spec, path = inputs.journal.spec, inputs.journal.path

    def begin() -> FoundLayers:
        try:
            namespaces = Namespaces()
        except NamespacesRefused as refused:
            return _refused(unfit(refused, workspace.root, path.parent))
        try:
            found = try_workspace(workspace.root, path.parent, namespaces)
            if found.place is None:
                namespaces.close()
                return _refused(found)
            layers = RunLayers(
                workspace,
                found.place,
                path.stem,
                namespaces,
                is_inside=found.is_inside,
                live=spec.gate.sandbox.live,
            )
            recovered = tuple(layers.recover())
        except BaseException:
            namespaces.close()
            raise
        others = spec.commit_hooks or spec.gate.sandbox.live or any(server.write for server in spec.mcp)
        layers.others_write = bool(others or inputs.facts.actions)
        return FoundLayers(layers, recovered=recovered)

    try:
        found = await asyncio.to_thread(begin)
    except (NamespacesRefused, OSError) as error:
        return FoundLayers(None, str(error), is_news=True)
    if found.layers is not None and found.layers.namespaces is not None:
        sandbox.network_words, sandbox.layers = found.layers.namespaces.words, found.layers.hidden
    return found


def _refused(found: Fitness) -> FoundLayers:
    """Return why this workspace has no layers: the first step that is refused."""
    lifts = " ".join(one for one in (found.remedy.text, _LIFTS if found.remedy.commands else "") if one)
    why = found.why if found.step in _SPEAKING else f"{found.step}: {found.why}"
    return FoundLayers(None, why, is_news=True, remedy=lifts)


def first_mode(inputs: Inputs, sandbox: Sandbox, found: FoundLayers) -> tuple[GateMode, list[str]]:
    """Return the mode in which the gate begins, and notes for the user about it and about the layers.

    If nobody chose the mode, `effects` needs layers and a sandbox that is known to hold, and `stage` layers or a copy.
    """
    spec, changes = inputs.journal.spec, inputs.order.changes
    mode, why = changes.gate or inputs.facts.gate_mode, ""
    writes = f"commands write to the workspace itself: {found.why_none}"
    if spec.gate.falls_back and mode is GateMode.STAGE and not inputs.facts.started and changes.gate is None:
        if no_stage := why_no_stage(spec, found):
            why = f"the gate is set to `ask` and not to `stage`: {no_stage}. {found.remedy}".rstrip(" ")
        elif not sandbox.is_confirmed:
            found = found._replace(recovered=(*found.recovered, NOT_STARTED))
    elif spec.gate.falls_back and not inputs.facts.started and changes.gate is None:
        if found.layers is None and found.units is None:
            why = f"the gate is set to `ask`, because {writes}"
        elif not sandbox.is_confirmed:
            why = "the gate is set to `ask`, because the sandbox gives too few guarantees here (see `rundry doctor`)"
    writes = found.copies or writes
    notes = [why] if why else [writes] if found.is_news or found.copies else []
    if notes and found.layers is None and found.remedy and found.remedy not in why:
        notes = [f"{notes[0]}. {found.remedy}"]
    return GateMode.ASK if why else mode, [*notes, *found.recovered]


def _why_never(spec: RunSpec, sandbox: Sandbox) -> str:
    """Return why a run has no layers whatever its workspace allows, or empty if it can have them."""
    if sandbox.kind is None:
        return "there is no sandbox"
    if _needs_folder(spec):
        return "each pass is a run of its own" if spec.improve is not None else "a cluster runs its checks"
    if spec.has_units or spec.loop is LoopKind.REVIEW:
        return ""
    if spec.loop not in (LoopKind.CHAT, LoopKind.GOAL, LoopKind.PACED):
        return f"not in a run of the kind {spec.loop}"
    return "" if spec.changes_files else "this run changes no files"


def why_no_stage(spec: RunSpec, found: FoundLayers) -> str:
    """Return why a run cannot work in a stage, or empty if it can."""
    if why := _why_never_staged(spec):
        return why
    if found.layers is not None or found.units is not None:
        return ""
    copies = f"; the stage cannot be a copy of the workspace: {found.why_no_copy}" if found.why_no_copy else ""
    return f"layers do not work here (see `rundry doctor`): {found.why_none}{copies}"


def _why_never_staged(spec: RunSpec) -> str:
    """Return why a run cannot work in a stage whatever its workspace allows, or empty if it can."""
    if spec.loop not in (LoopKind.CHAT, LoopKind.GOAL) or spec.tries is not None:
        return f"{spec.loop.a_run if spec.tries is None else 'a run with --tries'} decides on its changes by itself"
    if spec.commit or spec.commit_hooks:
        return f"{'--commit' if spec.commit else '--commit-hooks'} changes the repository while the run works"
    return ""


async def close_layers(*layers: RunLayers | None) -> None:
    """End the processes that these layers need. The layers of a run may be given twice."""
    for one in {each for each in layers if each is not None}:
        await asyncio.to_thread(one.close)


class Views(NamedTuple):
    """Where the judge makes its views, or why it can make none."""

    layers: RunLayers | None = None
    """None means that there are no views."""
    line: str = ""
    """For the user, at the start, or empty if there is nothing to say."""
    why_none: str = ""
    """Why there are none. Empty means that there are some, or nothing is judged."""


async def views_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox, found: FoundLayers) -> Views:
    """Return where results are judged. Without layers, the workspace is copied before a new run begins.

    `found`: the layers of the run.
    """
    spec, facts = inputs.journal.spec, inputs.facts
    if found.layers is not None or not is_judged(spec):
        return Views(found.layers)
    noted = facts.verdicts.scope
    if facts.started and not (noted is not None and noted.in_copy):
        return Views(None, "", (noted.no_views if noted is not None else "") or found.why_none)
    making = asyncio.to_thread(_views, inputs, workspace, sandbox, found)
    return await with_progress(making, inputs.tell, f"copying {spec.workspace}, to judge the result in a copy")


def _views(inputs: Inputs, workspace: Workspace, sandbox: Sandbox, found: FoundLayers) -> Views:
    path, is_new, spec = inputs.journal.path, not inputs.facts.started, inputs.journal.spec
    at_workspace = sandbox.kind == "bubblewrap"
    if is_new and not at_workspace and (named := _named(spec, workspace.seen)):
        return _not_judged(f"`{named}` names {workspace.seen}, and a copy of it lies elsewhere")
    if _is_elsewhere(spec):
        return _not_judged("the checks run on the machines of a cluster")
    base = place_of_copies(workspace.root, path.parent)
    if base.is_relative_to(workspace.root):
        return _not_judged(f"rundry's own folder {path.parent} lies in the workspace")
    try:
        layers = RunLayers(workspace, base, path.stem, None, copies=True, at_workspace=at_workspace)
        layers.others_write, layers.hidden = True, own_folder_in(workspace.root)
        orders = place_of_orders(workspace.root, path.parent)
        layers.contents_base = found.units.base if spec.has_units and found.units is not None else orders
        layers.recover()
        if not is_new:
            layers.start = StartCopy.left(base, start_name(inputs.journal), workspace.root, layers.hidden)
            return Views(layers)
        sweep_starts(base)
        layers.start, size = StartCopy.make(base, start_name(inputs.journal), workspace.root, layers.hidden)
    except (StartRefused, OSError) as error:
        return _not_judged(str(error))
    copied = f"{plural(size.files, 'file')}, {size_words(size.size)}"
    return Views(layers, f"the result is judged in a copy of the workspace ({copied})")


def _named(spec: RunSpec, seen: Path) -> str:
    """Return the check that names the path of the workspace, or empty if none does."""
    of_items = [] if spec.finder is None or spec.finder.check is None else [spec.finder.check]
    scores = [] if spec.improve is None else [spec.improve.score]
    return next((line for line in [*spec.predicates.until, *of_items, *scores] if str(seen) in line), "")


def _is_elsewhere(spec: RunSpec) -> bool:
    """Return whether checks run where the workspace is not."""
    executor = None if spec.finder is None else spec.finder.executor
    return executor is not None and read_executor(executor).address is not None


def _not_judged(why: str) -> Views:
    return Views(None, f"not judged here: {why}; so no check runs once more", why)
