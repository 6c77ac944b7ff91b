"""Say what the workers of a Dask cluster must know of a run: sandbox, environment and rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...sandbox.denied_paths import path_globs
from ...settings.settings import config_file
from .order import Job, SandboxJob, own_versions

if TYPE_CHECKING:
    from ...protocol import GatePolicy, Rule
    from ...sandbox.sandbox import Sandbox
    from ...settings.search.executor import Executor
    from ...step.resources.run_context import RunContext


class RemoteJob:
    """What the workers of a run must know, so that they hold commands and files as the runner does.

    It is made for each order, because the rules of the run change.
    """

    def __init__(self, ctx: RunContext, executor: Executor, provider_key_names: Iterable[str]) -> None:
        self._ctx, self._keys = ctx, sorted(provider_key_names)
        self._is_shared = executor.address is None

    def for_reading(self) -> Job:
        """Return the job for calls of reading tools."""
        private = [str(place) for place in self._ctx.workspace.private]
        return msgspec.structs.replace(self._job(self._ctx), reads=True, private=private)

    def for_checks(self, used: RunContext) -> Job:
        """Return the job for checks in the workspace of a context."""
        return msgspec.structs.replace(self._job(used), checks=True)

    def _job(self, used: RunContext) -> Job:
        job = confined_job(used, self._keys)
        assert job.sandbox is not None  # the job is confined
        sandbox = msgspec.structs.replace(job.sandbox, not_held=names_not_held(used.sandbox, used.facts.rules))
        return msgspec.structs.replace(job, sandbox=sandbox, is_shared=self._is_shared)


def confined_job(ctx: RunContext, provider_key_names: Iterable[str]) -> Job:
    """Return a job without content, with the sandbox and the environment of this context."""
    named = ctx.facts.spec.gate.sandbox.env
    return Job(
        versions=own_versions(),
        workspace=str(ctx.workspace.root),
        sandbox=sandbox_job(ctx.sandbox, ctx.facts.spec.gate, ctx.facts.rules, ctx.journal.path.parent),
        keys=sorted(provider_key_names),
        named=named,
        env={name: value for name, value in ctx.env.items() if any(fnmatchcase(name, one) for one in named)},
    )


def sandbox_job(sandbox: Sandbox, gate: GatePolicy, rules: Sequence[Rule], runs: Path) -> SandboxJob:
    """Return what the sandbox of a worker must hold. `sandbox`: that of the runner, `runs`: the folder of journals."""
    return SandboxJob(
        is_required=sandbox.kind is not None,
        network=gate.network,
        hosts=gate.sandbox.hosts,
        own=[str(runs), str(config_file(os.environ).parent)],
        hide=gate.sandbox.hide,
        show=gate.sandbox.show,
        rules=list(rules),
    )


def names_not_held(sandbox: Sandbox, rules: Sequence[Rule]) -> list[str] | None:
    """Return the names of the guarantees that a probed sandbox does not give, or None if there is no sandbox."""
    if sandbox.kind is None:
        return None
    return [one.name for one in sandbox.missing(denied=bool(path_globs(rules)))]
