"""Send the spans of a run, and of its child runs, while they run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...journal.journal import Journal
from ...protocol import RundryError, RunSpec, Stamped, TelemetryFailed
from .sender import SpanSender
from .span import run_span_id, trace_id
from .span_fold import CONTENT_EVENTS, SPAN_EVENTS, RunSpans

if TYPE_CHECKING:
    from .span_target import SpanTarget

_CLOSE_SECONDS = 2.0
"""Seconds after the end of a run in which its last spans are sent."""
_MOST_PARENTS = 100

Listener = Callable[[Stamped], None]


class Telemetry:
    """The spans of one process: those of a run and of the child runs below it."""

    def __init__(self, target: SpanTarget) -> None:
        self._target, self._loop = target, asyncio.get_running_loop()
        self._sender = SpanSender(target, self._failed_in_thread)
        self._on_failure: Callable[[TelemetryFailed], bool] | None = None
        self._unreported: TelemetryFailed | None = None
        self._has_failed = False

    def listener(self, journal: Journal, on_event: Listener) -> Listener:
        """Return a listener that makes spans of the events of this run, then calls `on_event`.

        Spans that ended before are not sent again.
        """
        with_content = _with_content(journal.spec)
        fold: RunSpans | None = spans_of(journal.spec, with_content=with_content)
        for stamped in journal.read_types(CONTENT_EVENTS if with_content else SPAN_EVENTS):
            fold.apply(stamped)

        def fold_event(stamped: Stamped) -> None:
            nonlocal fold
            try:
                if fold is not None:
                    self._sender.put(fold.apply(stamped))
            except Exception as error:  # noqa: BLE001 - a fault in telemetry must not end the run
                fold = None
                self._failed(f"{type(error).__name__}: {error}")
            on_event(stamped)

        return fold_event

    def report_to(self, on_failure: Callable[[TelemetryFailed], bool]) -> None:
        """Call this function once if spans do not reach the collector. The first function that is given is kept.

        It returns whether it could report the failure; if not, `close` does.
        """
        self._on_failure = self._on_failure or on_failure

    async def close(self) -> str | None:
        """Send the last spans, for at most two seconds. Returns a failure that was not reported, as a line."""
        is_closed = await asyncio.to_thread(self._sender.close, _CLOSE_SECONDS)
        await asyncio.sleep(0)  # for a failure that the thread reports now
        if not is_closed and not self._has_failed:
            self._failed("it does not answer")
        return self._unreported.line if self._unreported is not None else None

    def _failed_in_thread(self, why: str) -> None:
        with suppress(RuntimeError):  # the run has ended, and its event loop with it
            self._loop.call_soon_threadsafe(self._failed, why)

    def _failed(self, why: str) -> None:
        self._has_failed = True
        failure = TelemetryFailed(server=self._target.server, why=why)
        if self._on_failure is None or not self._on_failure(failure):
            self._unreported = failure


def spans_of(spec: RunSpec, *, with_content: bool) -> RunSpans:
    """Return the fold for a run. A child run is a part of the trace of the run above it."""
    root, parent = spec, spec.parent
    for _ in range(_MOST_PARENTS):
        if root.parent is None or (above := _spec_at(Path(root.parent.journal))) is None:
            break
        root = above
    above_id = None if parent is None else run_span_id(parent.run_id)
    name = root.run_id if root.parent is None else root.parent.run_id
    return RunSpans(spec.run_id, trace_id(name), above_id, with_content=with_content)


def _with_content(spec: RunSpec) -> bool:
    return spec.otel is not None and spec.otel.content


def _spec_at(path: Path) -> RunSpec | None:
    """Return the spec in a journal, or None if it cannot be read."""
    if not path.exists():
        return None
    try:
        journal = Journal.open_for_reading(path)
    except RundryError:
        return None
    try:
        return journal.spec
    finally:
        journal.close()
