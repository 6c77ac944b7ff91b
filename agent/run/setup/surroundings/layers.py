"""Give a run its layers, where they work, and find out in which mode its gate begins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from ....gate.policy import NOT_STARTED
from ....layers.fitness import Fitness, try_workspace, unfit
from ....layers.namespaces import Namespaces, NamespacesRefused
from ....layers.run_layers import RunLayers
from ....protocol import GateMode, LoopKind, RunSpec

if TYPE_CHECKING:
    from ....workspace.paths import Workspace
    from ....workspace.sandbox.sandbox import Sandbox
    from ..inputs import Inputs

_OF_PASSES = (LoopKind.INTERVAL, LoopKind.IMPROVE)
"""Loops whose passes and tries work in layers."""
_LIFTS = "`rundry doctor` prints the commands."
_SPEAKING = ("place", "sandbox")
"""Steps whose reason says what was tried."""


class FoundLayers(NamedTuple):
    """The layers of a run, or why it has none."""

    layers: RunLayers | None
    """None: commands write to the workspace itself."""
    why_none: str = ""
    """Why it has none; empty: it has."""
    is_news: bool = False
    """Whether a note says why: this machine, this workspace or an option refuses them, not the kind of the run."""
    remedy: str = ""
    """How a person lifts that."""
    recovered: tuple[str, ...] = ()
    """Lines for the user about what killed runs left here."""


async def layers_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> FoundLayers:
    """Return the layers of a run that works in this workspace."""
    spec, path = inputs.journal.spec, inputs.journal.path
    if why := _why_never(spec, sandbox):
        return FoundLayers(None, why, is_news=spec.loop in _OF_PASSES or _is_migration(spec))

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
        except BaseException:
            namespaces.close()
            raise
        others = spec.commit_hooks or spec.gate.sandbox.live or any(server.write for server in spec.mcp)
        layers.others_write = bool(others or inputs.facts.actions)
        return FoundLayers(layers, recovered=tuple(layers.recover()))

    try:
        found = await asyncio.to_thread(begin)
    except (NamespacesRefused, OSError) as error:
        return FoundLayers(None, str(error), is_news=True)
    if found.layers is not None:
        sandbox.network_words, sandbox.layers = found.layers.namespaces.words, found.layers.hidden
    return found


def _refused(found: Fitness) -> FoundLayers:
    """Return why this workspace has no layers: the first step that is refused."""
    lifts = " ".join(one for one in (found.remedy.text, _LIFTS if found.remedy.commands else "") if one)
    why = found.why if found.step in _SPEAKING else f"{found.step}: {found.why}"
    return FoundLayers(None, why, is_news=True, remedy=lifts)


def first_mode(inputs: Inputs, sandbox: Sandbox, found: FoundLayers) -> tuple[GateMode, list[str]]:
    """Return the mode in which the gate begins, and notes for the user about it and about the layers.

    If nobody chose the mode, `effects` needs layers and a sandbox that is known to hold, and `stage` needs layers.
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
        if found.layers is None:
            why = f"the gate is set to `ask`, because {writes}"
        elif not sandbox.is_confirmed:
            why = "the gate is set to `ask`, because the sandbox gives too few guarantees here (see `rundry doctor`)"
    notes = [why] if why else [writes] if found.is_news else []
    if notes and found.layers is None and found.remedy and found.remedy not in why:
        notes = [f"{notes[0]}. {found.remedy}"]
    return GateMode.ASK if why else mode, [*notes, *found.recovered]


def _why_never(spec: RunSpec, sandbox: Sandbox) -> str:
    """Return why a run has no layers whatever its workspace allows; empty: it can have them."""
    if sandbox.kind is None:
        return "there is no sandbox"
    if spec.loop in _OF_PASSES:
        return _why_no_passes(spec)
    if _is_migration(spec):
        return "not with an executor" if spec.finder is not None and spec.finder.executor is not None else ""
    if spec.loop not in (LoopKind.CHAT, LoopKind.GOAL):
        return f"not in a run of the kind {spec.loop}"
    if spec.guarded_commands:  # a pass of an improve run, which is rolled back as a whole
        return "not in a pass"
    return "" if spec.changes_files else "this run changes no files"


def _why_no_passes(spec: RunSpec) -> str:
    """Return why the passes of a run do not work in layers; empty: they can."""
    if spec.commit_hooks:
        return "not with --commit-hooks"
    improve = spec.improve
    return "not where each pass is a run of its own" if improve is not None and improve.pass_loop is not None else ""


def _is_migration(spec: RunSpec) -> bool:
    """Return whether a model changes items until a check passes: each works in a layer."""
    return spec.finder is not None and spec.finder.check is not None


def why_no_stage(spec: RunSpec, found: FoundLayers) -> str:
    """Return why a run cannot work in a stage; empty: it can."""
    if spec.loop not in (LoopKind.CHAT, LoopKind.GOAL) or spec.tries is not None:
        return f"{spec.loop.a_run if spec.tries is None else 'a run with --tries'} decides on its changes by itself"
    if spec.commit or spec.commit_hooks:
        return f"{'--commit' if spec.commit else '--commit-hooks'} changes the repository while the run works"
    return f"layers do not work here (see `rundry doctor`): {found.why_none}" if found.layers is None else ""
