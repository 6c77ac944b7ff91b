"""The tools that read and start runs, and wait for them. RundryErrors become error results.

Clients read the docstrings of the tools, and the schemas follow from their annotations (`Tool.of`).
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from rundry.agent import Journal, RunLine, UserError, changed_since_words, handoff_markdown, plural, validate_spec

from ..control.own_runs import OwnRuns
from ..start.confirmed_findings import FoundRow as Row, findings_of
from ..text.show_text import one_line, path_line
from .allowed_runs import Allowed
from .client_runs import spec_for
from .mcp_access import allowed_folder, open_run, visible_runs
from .mcp_arguments import ListRuns, ReadFindings, ReadHandoff, ReadProposal, ReadRun, StartRun, WaitForRun
from .mcp_results import FoundList, FoundRow, Piece, RunList, RunRow, RunView, Text, Waited
from .mcp_text import cut
from .read_tools import Follower, piece_of_proposal, view_of

_LOOK_SECONDS = 0.25
_REPORT_SECONDS = 2.0
"""Seconds between two reports of progress during a wait."""
_MESSAGES = 8
_LINE, _CLAIM, _HANDOFF = 300, 1_000, 30_000
"""Most characters of a line, of the text of a finding, and of the record of a hand-off."""

Progress = Callable[[float, float, str], Awaitable[None]]
"""Reports progress of a call: so far, total, in words."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool knows of its call, apart from the arguments."""

    by: str
    """The client, as events name it."""
    report: Progress


class Tools:
    """The tools that every client has."""

    def __init__(self, allowed: Allowed, own: OwnRuns) -> None:
        self._allowed, self._own = allowed, own

    async def list_runs(self, asked: ListRuns, call: Call) -> RunList:
        """List runs in the allowed folders, newest first."""
        del call
        below = None if asked.folder is None else allowed_folder(self._allowed, asked.folder)
        lines = await asyncio.to_thread(visible_runs, self._allowed, below=below)
        fitting = [line for line in lines if asked.state in ("any", line.state)]
        return RunList(runs=[_row(line) for line in fitting[: asked.limit]], more=max(0, len(fitting) - asked.limit))

    async def start_run(self, asked: StartRun, call: Call) -> RunView:
        """Start a run: a model works on the task in a folder, within limits, until its checks pass.

        Returns once it has begun; then use wait_for_run. Edits and commands wait for approval, as the gate's mode says.
        """
        spec, notes = await spec_for(self._allowed, asked, call.by)
        await asyncio.to_thread(validate_spec, spec, os.environ)
        await self._own.begin(spec, notes)
        view = await asyncio.to_thread(self._view, spec.run_id, _MESSAGES)
        return msgspec.structs.replace(view, notes=[one_line(note)[:_LINE] for note in notes])

    async def read_run(self, asked: ReadRun, call: Call) -> RunView:
        """Read what a run does.

        Returns its status, spend against its limits, proposals that wait with their diff and digest, the newest
        entries, and the outcome.
        """
        del call
        return await asyncio.to_thread(self._view, asked.run, asked.messages)

    async def read_proposal(self, asked: ReadProposal, call: Call) -> Piece:
        """Read the whole diff, command or call of a waiting proposal, in pieces."""
        del call

        def read() -> Piece:
            with self._following(asked.run) as followed:
                return piece_of_proposal(followed, asked.digest, asked.offset)

        return await asyncio.to_thread(read)

    async def wait_for_run(self, asked: WaitForRun, call: Call) -> Waited:
        """Wait until a run ends or waits for somebody, or at most `seconds`. Reports progress."""
        journal = open_run(self._allowed, asked.run)
        try:
            followed = await asyncio.to_thread(Follower, journal)
            changed = await _changed(followed, asked, call)
            return Waited(changed=changed, view=await asyncio.to_thread(view_of, followed, _MESSAGES))
        finally:
            journal.close()

    async def read_findings(self, asked: ReadFindings, call: Call) -> FoundList:
        """Read the findings of a search, confirmed ones first."""
        del call

        def read() -> list[Row]:
            with self._opened(asked.run) as journal:
                return [row for row in findings_of(journal).rows if asked.state in ("any", row.state)]

        rows, end = await asyncio.to_thread(read), asked.offset + asked.limit
        shown = [_found(row) for row in rows[asked.offset : end]]
        return FoundList(findings=shown, total=len(rows), next_offset=end if end < len(rows) else None)

    async def read_handoff(self, asked: ReadHandoff, call: Call) -> Text:
        """Read the newest hand-off of a run: why it stopped, what was tried, what to do next."""
        del call

        def read() -> str:
            with self._following(asked.run) as followed:
                opened, state = followed.state.last_handoff, followed.state
                if opened is None:
                    raise UserError(f"{asked.run} was not handed over")
                waiting = {name: each.digest for name, each in state.proposals.items()}
                return handoff_markdown(opened, run_id=state.run_id, waiting=waiting)

        return Text(text=cut(await asyncio.to_thread(read), _HANDOFF))

    def _view(self, run: str, messages: int) -> RunView:
        with self._following(run) as followed:
            return view_of(followed, messages)

    @contextmanager
    def _opened(self, run: str) -> Generator[Journal]:
        journal = open_run(self._allowed, run)
        try:
            yield journal
        finally:
            journal.close()

    @contextmanager
    def _following(self, run: str) -> Generator[Follower]:
        with self._opened(run) as journal:
            yield Follower(journal)


async def _changed(followed: Follower, asked: WaitForRun, call: Call) -> bool:
    """Wait, and return whether the run changed in the way that the client waits for."""
    before, began = followed.mark(), time.monotonic()
    if asked.seen is not None and followed.state.last_seq > asked.seen and asked.until == "change":
        return True
    reported = began
    while not (followed.needs_attention if asked.until == "attention" else followed.mark() != before):
        waited = time.monotonic() - began
        if waited >= asked.seconds:
            return False
        if time.monotonic() - reported >= _REPORT_SECONDS:
            reported = time.monotonic()
            await call.report(round(waited, 1), asked.seconds, _progress_words(followed))
        await asyncio.sleep(min(_LOOK_SECONDS, asked.seconds - waited))
        if followed.journal.changed():
            followed.read()
    return True


def _progress_words(followed: Follower) -> str:
    state = followed.state
    return one_line(f"step {state.step or 0}: {state.phase}, {state.common.ledger.limited.tokens.total} tokens")[:_LINE]


def _row(line: RunLine) -> RunRow:
    void = f"void: {plural(line.undone_since, 'change')} undone since; " if line.undone_since else ""
    void = f"void: {changed_since_words(line.changed_since)}; " if line.changed_since else void
    return RunRow(
        run=line.run_id,
        state=line.state,
        task=one_line(line.task[:_LINE]),
        folder=path_line(line.workspace),
        model=one_line(line.model),
        started=line.started,
        reason=line.reason.value if line.reason is not None else "",
        detail=one_line((void + line.detail)[:_LINE]),
        complete=line.complete,
        evidence=one_line(line.evidence[:_LINE]),
        steps=line.steps,
        usd=line.usd,
    )


def _found(row: Row) -> FoundRow:
    finding = row.finding
    return FoundRow(
        key=one_line(finding.key[:_LINE]),
        title=one_line(finding.title[:_LINE]),
        state=row.state,
        verdict=one_line(row.verdict[:_LINE]),
        file=path_line(row.file),
        line=row.line,
        claim=cut(finding.detail or finding.evidence, _CLAIM),
    )
