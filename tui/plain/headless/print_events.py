"""Print the events of a run: as lines for a person, or as JSON. Does not import textual."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rundry.agent import (
    IN_MEMORY,
    AnswerRead,
    Block,
    Blocks,
    CheckFinished,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    ConfirmationFinished,
    ContextTrimmed,
    DependenciesFound,
    DependenciesRecorded,
    EditFormatChosen,
    EditFormatOffered,
    Fault,
    HandoffOpened,
    HoldoutPrepared,
    HookRan,
    ItemDuplicate,
    ItemQueued,
    Journal,
    Judged,
    JudgePlanned,
    KnownEvent,
    LoopKind,
    McpServerChanged,
    PassFinished,
    PromptShortened,
    Reason,
    Restarted,
    RunEnded,
    RunResumed,
    RunStarted,
    Said,
    ScoreMeasured,
    ScoreNotMeasured,
    Sleeping,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    TryChosen,
    TryFinished,
    TryMeasured,
    ViewState,
    answer_words,
    confirming_words,
    dependency_line,
    duration,
    exit_code,
    facts_of,
    handoff_markdown,
    held_words,
    hook_lines,
    is_try,
    judged_words,
    new_words,
    reduce,
    second_check_words,
    short,
    shortening_lines,
    stall_words,
    stored_view,
    to_json_line,
    trim_words,
)

from ...control.end_words import JOBS_ENDED, ended_jobs_words, outcome_line, plan_words, proof_rows, say_end
from ...control.resume_command import continue_line
from ...text.show_text import bare, one_line, show
from .headless_lines import block_words, model_words, say_line, search_lines
from .search_lines import SearchLines
from .wait_lines import WaitLines

_BATCH = 5_000
"""Events that are read from the journal together."""


class LinePrinter:
    """Prints one line for each step, fault and stall; at the end the answer, the next step and the outcome."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._flags = flags
        self._state = ViewState(blocks=Blocks(limit=IN_MEMORY))
        self._first_block = 0
        self._starts: dict[str | None, int] = {}
        """Work of a try to the index of the first block of its step."""
        self._search = SearchLines(self._state)
        self._waits = WaitLines()
        self._servers = set[str]()
        """MCP servers whose state was recorded since the run began or resumed."""

    def tell(self, line: str) -> None:
        """Print what the person has to wait for."""
        say_line(line)

    def waits(self, now: float) -> None:
        """Print what the run waits for, if that takes long. To be called each second."""
        if (line := self._waits.due(self._state, now)) is not None:
            say_line(line)

    def read_earlier(self, journal: Journal, since: int | None) -> None:
        """Read the events that a journal has already, and print those after `since`."""
        stored = stored_view(journal, limit=IN_MEMORY) if since is None else None
        if stored is not None:
            self._state, self._search = stored, SearchLines(stored)
            self._first_block = len(stored.blocks)
        is_search = journal.spec.loop is LoopKind.UNTIL_DRY and since is None and stored is None
        without = (ItemQueued, ItemDuplicate) if is_search else ()
        for stamped in _earlier(journal, self._state.last_seq, without):
            if since is not None and stamped.seq > since:
                self.take(stamped)
            else:
                reduce(self._state, stamped)
                self._first_block = len(self._state.blocks)
        if is_search:
            self._state = replace(self._state, finder=facts_of(journal).finder)
            self._search = SearchLines(self._state)

    def take(self, stamped: Stamped) -> None:
        """Print the next event."""
        reduce(self._state, stamped)
        if isinstance(stamped.event, ItemDuplicate | ItemQueued):  # most events of a crawl
            return
        if self._state.finder is not None:
            for line in self._search.of(stamped):
                say_line(line)
        match stamped.event:
            case RunStarted() | RunResumed() | Said() as begun:
                self._begin(begun)
            case StepStarted() if is_try(stamped.work):
                self._starts[stamped.work] = len(self._state.blocks)
            case StepFinished() as finished:
                self._step(stamped, finished)
            case CheckFinished() | ConfirmationFinished() | HoldoutPrepared() | Judged() | JudgePlanned() as checked:
                self._check(checked)
            case PassFinished(verdict=verdict) if verdict:
                self._newest()
            case Sleeping() | ScoreMeasured() | ScoreNotMeasured() | TryFinished() | TryMeasured() | TryChosen():
                self._newest()
            case RunEnded() as ended:
                self._end(ended)
            case event:
                for line in self._server(event) if isinstance(event, McpServerChanged) else _notes(event):
                    say_line(line)

    def _server(self, event: McpServerChanged) -> Iterator[str]:
        """Yield a change of a server, unless it failed at the start: then the notes of the run say it."""
        is_first = event.name not in self._servers
        self._servers.add(event.name)
        if (event.state != "ready" or event.detail) and not (is_first and event.state == "failed"):
            yield f"MCP server {event.name}: {event.state}{f', {event.detail}' if event.detail else ''}"

    def _begin(self, event: RunStarted | RunResumed | Said) -> None:
        match event:
            case RunStarted():
                say_line(f"{event.loop.value} {event.run_id} with {model_words(event.model)} in {event.workspace}")
            case RunResumed():
                say_line(f"resumed {event.run_id}")
            case Said():
                if event.images:
                    say_line("  ".join(image.label for image in event.images))
                return
        self._servers.clear()
        for note in event.notes:
            say_line(note)

    def _check(self, event: CheckFinished | ConfirmationFinished | HoldoutPrepared | Judged | JudgePlanned) -> None:
        if isinstance(event, HoldoutPrepared):
            if not (words := second_check_words(event)):
                return
            say_line(words)
        elif isinstance(event, JudgePlanned):
            say_line(event.line)
        elif isinstance(event, Judged):
            say_line(f"once more, without undecided changes: {judged_words(event)}")
        elif isinstance(event, ConfirmationFinished):
            say_line(f"confirm {event.command}: {confirming_words(event)}")
        elif event.baseline:
            say_line(f"check {event.command}: {'passed' if event.passed else self._state.blocks[-1].right}")
        else:
            return
        self._first_block = len(self._state.blocks)

    def _step(self, stamped: Stamped, finished: StepFinished) -> None:
        blocks = self._state.blocks
        done: list[Block] | None = blocks[max(self._first_block, blocks.first) :]
        self._first_block = len(self._state.blocks)
        who = ""
        if is_try(stamped.work):
            start = self._starts.pop(stamped.work, len(self._state.blocks))
            done = [block for block in blocks[max(start, blocks.first) :] if block.work == stamped.work]
            who = self._state.running_tries.get(stamped.work or "", "")
        if self._state.finder is not None:
            done, who = self._search.step_blocks(stamped), self._search.who(stamped)
        if done is None:
            return
        words = [text for block in done if (text := block_words(block))]
        spent = f"{short(self._state.common.ledger.limited.tokens.total)} tokens"
        said = f"{f'{one_line(who)}: ' if who else ''}{'; '.join(words) or 'nothing'}"
        say_line(f"step {finished.number}  {said}  [{spent}, {finished.seconds:.1f} s]")

    def _newest(self) -> None:
        """Print the newest block as a line of its own."""
        block = self._state.blocks[-1]
        say_line(f"{block.text or block.title}  {block.right}".rstrip())
        self._first_block = len(self._state.blocks)

    def _end(self, ended: RunEnded) -> None:
        self._answer(ended)
        state = self._state
        if ended.reason is Reason.HANDOFF and state.last_handoff is not None:
            digests = {name: opened.digest for name, opened in state.proposals.items()}
            record = handoff_markdown(state.last_handoff, run_id=state.run_id, journal=state.journal, waiting=digests)
            print(show(record), file=sys.stderr)
        if plan := plan_words(state):
            say_end(f"plan: {plan}")
        for label, words in proof_rows(ended):
            say_end(f"{label}: {words}")
        if words := held_words(ended.held):
            say_end(words)
        self._next_step()
        if state.finder is not None:
            for line in search_lines(ended, len(state.finder.found)):
                say_end(line)
        say_end(outcome_line(ended))

    def _answer(self, ended: RunEnded) -> None:
        if ended.answer:
            print(show(ended.answer) if sys.stdout.isatty() else bare(ended.answer), flush=True)

    def _next_step(self) -> None:
        on = continue_line(self._state, self._flags, attended=False)
        if on is not None:
            say_end(on)


class AnswerPrinter(LinePrinter):
    """Prints the answer, and why the run ended if it did not end with success."""

    def tell(self, line: str) -> None:
        """Print nothing while the person waits."""

    def waits(self, now: float) -> None:
        """Print nothing while the run waits."""

    def read_earlier(self, journal: Journal, since: int | None) -> None:
        """Read the events that a journal has already, and print nothing."""
        del since
        super().read_earlier(journal, None)

    def take(self, stamped: Stamped) -> None:
        """Print the end; of all other events nothing."""
        reduce(self._state, stamped)
        if not isinstance(stamped.event, RunEnded):
            return
        self._answer(stamped.event)
        if words := ended_jobs_words(stamped.event):
            say_end(f"{JOBS_ENDED}: {words}")
        if exit_code(stamped.event.reason, complete=stamped.event.complete) != 0:
            self._next_step()
            say_end(outcome_line(stamped.event))


class JsonPrinter:
    """Prints one event in each line, as docs/requirements.md 13.1 defines it."""

    def tell(self, line: str) -> None:
        """Print on stderr what the person has to wait for."""
        say_line(line)

    def waits(self, now: float) -> None:
        """Print nothing while the run waits: a program reads the events."""

    def read_earlier(self, journal: Journal, since: int | None) -> None:
        """Print the events of a journal after `since`."""
        for stamped in _earlier(journal, since) if since is not None else ():
            self.take(stamped)

    def take(self, stamped: Stamped) -> None:
        """Print the next event."""
        sys.stdout.buffer.write(to_json_line(stamped) + b"\n")
        sys.stdout.buffer.flush()


def _earlier(journal: Journal, after: int = 0, without: Sequence[type[KnownEvent]] = ()) -> Iterator[Stamped]:
    """Read the events in batches, because a long search has millions."""
    while events := journal.read(after, _BATCH, without=without):
        yield from events
        after = events[-1].seq


def _notes(event: object) -> Iterator[str]:
    """Return the lines for faults, stalls and other events that need only their own content."""
    match event:
        case DependenciesFound() | DependenciesRecorded():
            yield dependency_line(event)
        case Fault():
            again = "" if event.retry_in is None else f", retry in {duration(event.retry_in)}"
            yield f"{event.kind}: {event.text}{again}"
        case HookRan():
            yield from hook_lines(event)
        case PromptShortened():
            yield from shortening_lines(event)
        case ContextTrimmed():
            yield f"{trim_words(event)}  {short(event.dropped_tokens)} tokens"
        case EditFormatChosen() | AnswerRead() | Restarted() | EditFormatOffered():
            yield from filter(None, [answer_words(event)])
        case StallDetected():
            what, signature, done = stall_words(event)
            yield f"{what}, {done}: {signature}"
        case ChildStarted():
            yield f"run {event.number}  {event.title}  {event.run_id}"
        case ChildWaiting():
            yield f"run {event.number}  waits for you: rundry watch {event.run_id}"
        case ChildFinished():
            yield f"run {event.number}  {event.reason.words}: {event.detail}"
            yield from (f"run {event.number}  {words}" for words in new_words(event))
        case HandoffOpened():
            yield f"hand-off: {event.reason}: {event.suggested_action}"
        case _:
            pass
