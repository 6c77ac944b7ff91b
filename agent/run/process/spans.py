"""Export the spans of a run while it runs, if the user named a collector."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ...telemetry.live import Telemetry
from ...telemetry.target import target_of

if TYPE_CHECKING:
    from ...protocol import RunSpec, TelemetryFailed
    from ..live.live_run import LiveRun
    from ..setup.inputs import ProcessContext


@asynccontextmanager
async def exported_spans(
    spec: RunSpec, process: ProcessContext, tell: Callable[[str], None]
) -> AsyncGenerator[ProcessContext]:
    """Yield the context with telemetry, and send the last spans at the end. Child runs use that of their parent.

    `tell` is called with a line if no span arrived and the run could not record that. Raises UserError.
    """
    target = target_of(spec.otel, process.env) if process.spans is None else None
    if target is None:
        yield process
        return
    telemetry = Telemetry(target)
    try:
        yield replace(process, spans=telemetry)
    finally:
        if (failure := await telemetry.close()) is not None:
            tell(failure)


def record_failure(telemetry: Telemetry | None, run: LiveRun) -> None:
    """Record in this run, unless it has ended, that spans do not reach the collector."""

    def record(failure: TelemetryFailed) -> bool:
        if run.facts.ended is None:
            run.ctx.events.record(failure)
        return run.facts.ended is None

    if telemetry is not None:
        telemetry.report_to(record)
