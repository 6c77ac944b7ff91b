"""Read the state of a run for a client: what it does, spent and waits for. Reads only; blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rundry.agent import (
    IN_MEMORY,
    SUSPECT_QUESTION,
    Block,
    Blocks,
    Journal,
    ProposalOpened,
    RunEnded,
    UserError,
    ViewState,
    as_of_now,
    effect_lines,
    evidence_words,
    holder,
    load_older,
    reduce,
    run_state,
    stored_view,
    suspect_result,
    void_words,
)

from ..control.end_words import ended_jobs_words
from ..control.run_status import StatusWord, status_word
from ..text.show_text import one_line, path_line
from .mcp_results import Ended, Entry, Limit, Piece, Proposal, RunView
from .mcp_text import cut

_BATCH = 2_000
_AMONG = 4
"""Entries to look at for each one that is shown: reasoning is left out."""
_TEXT, _DIFF, _LINE = 2_000, 6_000, 300
"""Most characters of an entry, of the diff of a proposal in a list, and of a line."""
_WHOLE = 4
"""Number of proposals in a list whose diff is shown at length."""
_MOST = 20
"""Most proposals, and most files, in one result."""
PIECE = 12_000
"""Characters of one piece of a diff."""


class Follower:
    """The state of a run, which follows its journal."""

    def __init__(self, journal: Journal) -> None:
        """Read what the journal has. Raises JournalError."""
        self.journal = journal
        self.state = stored_view(journal, limit=IN_MEMORY) or ViewState(blocks=Blocks(limit=IN_MEMORY))
        self.read()

    def read(self) -> bool:
        """Read the events since the last call, and return whether there were any. Raises JournalError."""
        before = self.state.last_seq
        while events := self.journal.read(self.state.last_seq, _BATCH):
            for stamped in events:
                reduce(self.state, stamped)
        return self.state.last_seq != before

    @property
    def status(self) -> StatusWord:
        """The state of the run in one word."""
        return status_word(self.state, is_held=holder(self.journal.path) is not None)

    @property
    def needs_attention(self) -> bool:
        """Whether the run needs somebody to continue, or has ended."""
        return self.status in ("ended", "interrupted", "waiting", "paused")

    def mark(self) -> tuple[object, ...]:
        """Return a value that differs once something happened that a client may want to act on."""
        state = self.state
        digests = tuple(opened.digest for opened in state.proposals.values())
        question = state.question.question_id if state.question is not None else ""
        return self.status, state.step, digests, question, state.outcome is not None


def view_of(followed: Follower, messages: int) -> RunView:
    """Return the state of a run with its newest entries. Raises JournalError."""
    state, spec = followed.state, followed.journal.spec
    if messages:
        load_older(state, followed.journal)
    now = run_state(followed.journal)
    if holder(followed.journal.path) is None:
        now = now.without_runner()
    suspect = suspect_result(now)
    status = followed.status
    return RunView(
        run=spec.run_id,
        seq=state.last_seq,
        status=status,
        waits_for=_waits_for(state, status),
        task=cut(spec.task, _TEXT),
        folder=path_line(spec.workspace),
        model=one_line(state.model or spec.model.name),
        gate=(state.gate_mode if state.last_seq else spec.gate.mode).value,
        started_by=one_line(spec.started_by),
        activity=one_line(state.phase)[:_LINE] if status not in ("ended", "interrupted") else "",
        spent=list(_limits(state)),
        proposals=[
            proposal_of(opened, now.conflicts, _DIFF if number < _WHOLE else _LINE)
            for number, opened in enumerate(list(now.proposals.values())[:_MOST])
        ],
        question=cut(state.question.question, _TEXT) if state.question is not None else "",
        suspect=one_line(suspect.suspect)[:_LINE] if suspect is not None else "",
        messages=[_entry(block) for block in _newest(state, messages)],
        outcome=None if state.outcome is None else _ended(as_of_now(state.outcome, followed.journal)),
    )


def proposal_of(opened: ProposalOpened, conflicts: Mapping[str, str], most: int) -> Proposal:
    """Return a waiting proposal as clients read it, with at most `most` characters of its diff.

    `conflicts`: why a proposal is in conflict, by its id.
    """
    why = conflicts.get(opened.proposal_id, "")
    return Proposal(
        digest=opened.digest,
        tool=one_line(opened.tool),
        path=path_line(opened.path or ""),
        command=cut(opened.command or (opened.effects.command if opened.effects is not None else ""), most),
        diff=cut(_diff_of(opened), most),
        server=one_line(opened.server or ""),
        call=cut(opened.call or opened.request, most),
        asks=[one_line(reason)[:_LINE] for reason in opened.asks[:_MOST]],
        added=opened.added,
        removed=opened.removed,
        needs_person=opened.danger or opened.effects is not None,
        conflict=one_line(why)[:_LINE],
    )


def _diff_of(opened: ProposalOpened) -> str:
    """Return the diff of a proposal; of what a command would change, its entries come first."""
    return opened.diff if opened.effects is None else "\n".join([*effect_lines(opened.effects), "", opened.diff])


def piece_of_proposal(followed: Follower, digest: str, offset: int) -> Piece:
    """Return a piece of the whole diff, command line or call of a waiting proposal. Raises UserError."""
    waiting = [opened for opened in followed.state.proposals.values() if opened.digest == digest]
    if not waiting:
        raise UserError("no proposal with this digest waits: read_run lists those that do")
    whole = _diff_of(waiting[0]) or waiting[0].command or waiting[0].call or waiting[0].plan or waiting[0].request
    text, end = whole[offset : offset + PIECE], offset + PIECE
    return Piece(text=cut(text, PIECE), total=len(whole), next_offset=end if end < len(whole) else None)


def _waits_for(state: ViewState, status: StatusWord) -> str:
    if status == "paused":
        return "resume_run"
    if status == "interrupted":
        return "resume_run, because its process is gone"
    if status != "waiting":
        return ""
    if state.proposals:
        return "a decision at the gate"
    if state.question is None:
        return f"somebody ({state.waiting})"
    is_for_person = state.question.question_id.startswith(SUSPECT_QUESTION)
    return "an answer of a person to the question" if is_for_person else "an answer to the question"


def _limits(state: ViewState) -> Iterator[Limit]:
    spent, budget = state.common.ledger.limited, state.budget
    yield Limit(name="steps", used=spent.steps, limit=budget.steps if budget else None)
    yield Limit(name="tokens", used=spent.tokens.total + spent.held_tokens, limit=budget.tokens if budget else None)
    used = None if spent.unpriced else round(spent.usd + spent.held_usd, 6)
    yield Limit(name="usd", used=used, limit=budget.usd if budget else None)
    yield Limit(name="seconds", used=round(spent.seconds, 1), limit=budget.seconds if budget else None)


def _newest(state: ViewState, most: int) -> list[Block]:
    newest = state.blocks[-_AMONG * most :] if most else []
    return [block for block in newest if block.kind != "reasoning" and (block.text or block.title)][-most:]


def _entry(block: Block) -> Entry:
    return Entry(
        kind=block.kind,
        step=block.step,
        title=one_line(block.title)[:_LINE],
        text=cut(block.text, _TEXT),
        note=one_line(block.right)[:_LINE],
    )


def _ended(ended: RunEnded) -> Ended:
    return Ended(
        reason=ended.reason.value,
        detail=one_line("; ".join(part for part in (void_words(ended), ended.detail) if part))[:_LINE],
        complete=ended.complete,
        answer=cut(ended.answer or "", _TEXT),
        evidence=one_line(evidence_words(ended.evidence, ended.approved_by)),
        approved_by=[one_line(name) for name in ended.approved_by],
        files_changed=[path_line(path) for path in ended.files_changed[:_MOST]],
        jobs_ended=ended_jobs_words(ended)[:_LINE],
    )
