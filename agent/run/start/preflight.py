"""Check whether a run can begin, before its journal is created: its options, folder, model and price."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.workspace_paths import Workspace
from ...models.endpoint import is_direct
from ...models.lanes.close_connections import close_connections
from ...models.litellm_use.credentials import refuse_missing_key
from ...models.open_model import ModelOpener
from ...models.remote_model import RemoteModel
from ...protocol import Model, ModelSpec, Refusal, RunSpec, UserError
from ...sandbox.command_environment import OWN_GIT, command_env
from ...search.checking import no_file_matches, unmatched
from ...state.facts.run_facts import RunFacts
from ..children.child_kinds import searching
from .assemble import unpriced
from .check_images import refuse_images_of_search, refuse_unsupported_images
from .sandbox_of_run import try_early
from .search_of_run import check_executor
from .small_window import refuse_window
from .start_progress import Tell, with_progress
from .validate_spec import validate_spec
from .worktree_preflight import check_run_folder

if TYPE_CHECKING:
    from .inputs import ProcessContext

_FIRST_LINE_SECONDS = 0.4
"""Seconds after which the user sees what is being checked. Local servers and keys are checked in milliseconds."""


async def check_can_begin(spec: RunSpec, process: ProcessContext, tell: Tell, runs: Path) -> ProcessContext:
    """Check everything that can be checked without a journal. Raises Refusal, UserError.

    Returns a context that opens the model of the run without a second probe, and has tried the sandbox meanwhile.
    `tell` is called with a line when the user has to wait. `runs`: the folder of the journals.
    """
    asked = spec.model
    await _check_spec(spec, process)
    refuse_missing_key(asked, process.env)
    tried = await try_early(spec, runs, process.tried)
    try:
        model = await with_progress(_open(spec, process), tell, _waits_for(asked), after=_FIRST_LINE_SECONDS)
        if isinstance(model, RemoteModel):
            if model.needs_litellm:
                tell(loading(asked))
            await model.prepare()
    except BaseException:
        await tried.give_up()
        await close_connections()
        raise

    return replace(process, opener=_OpenedModel(asked, model, process.opener), checked=model, tried=tried)


@dataclass(frozen=True, slots=True)
class _OpenedModel(ModelOpener):
    """Returns the model of the run, which is open already, and opens others."""

    spec: ModelSpec
    model: Model
    others: ModelOpener

    async def open(self, spec: ModelSpec) -> Model:
        """Return the model of the run for its spec; else open the model. Raises Refusal, UserError."""
        return self.model if spec == self.spec else await self.others.open(spec)


async def _check_spec(spec: RunSpec, process: ProcessContext) -> None:
    """Make the checks that need no model: of the options, of the files, and of the folder."""
    await asyncio.to_thread(validate_spec, spec, process.env)
    if spec.repeat is not None:
        spec = searching(spec, spec)
        await asyncio.to_thread(validate_spec, spec, process.env)
    await asyncio.to_thread(_refuse_unmatched, spec)
    refuse_images_of_search(spec)
    await check_run_folder(spec, RunFacts(spec), command_env(process.env, more=OWN_GIT))
    await check_executor(spec)


def _refuse_unmatched(spec: RunSpec) -> None:
    """Raise UserError if a glob of a migration matches no file."""
    if spec.finder is not None and spec.finder.check is not None:
        root = Path(spec.workspace)
        if unmet := unmatched(spec.finder.globs, Workspace(root)):
            raise UserError(no_file_matches(unmet, root))


def refuse_unpriced(spec: RunSpec, model: Model) -> None:
    """Raise Refusal if the user set a limit in USD that cannot be enforced."""
    if model.price is None and spec.usd_asked and spec.budget.usd is not None:
        raise Refusal(unpriced(model.name, spec.budget.usd))


def loading(spec: ModelSpec) -> str:
    """Return the line to show while litellm is imported."""
    return f"loading litellm for {spec.name}"


async def _open(spec: RunSpec, process: ProcessContext) -> Model:
    model = await process.opener.open(spec.model)
    refuse_unpriced(spec, model)
    refuse_unsupported_images(spec, model)
    await model.probe()
    if small := refuse_window(spec, model):
        raise Refusal(small)
    return model


def _waits_for(spec: ModelSpec) -> str:
    if spec.api_base is not None:
        return f"checking the model server at {spec.api_base}"
    return f"checking whether {spec.name} can be reached" if is_direct(spec.name) else loading(spec)
