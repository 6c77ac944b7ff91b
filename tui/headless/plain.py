"""The view of --headless: a line a step on stderr, the answer on stdout; or one event a line with --json."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rundry.agent import (
    IN_MEMORY,
    Block,
    Blocks,
    CheckFinished,
    ConfirmationFinished,
    ContextTrimmed,
    DependenciesFound,
    DependenciesRecorded,
    Fault,
    HandoffOpened,
    ItemDuplicate,
    ItemQueued,
    Journal,
    KnownEvent,
    LoopKind,
    Outcome,
    PassFinished,
    PromptShortened,
    Reason,
    Refusal,
    ResumeChanges,
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
    Unreachable,
    UserError,
    ViewState,
    confirming_words,
    coverage_words,
    dependency_line,
    estimate_words,
    evidence_words,
    facts_of,
    handoff_markdown,
    is_try,
    last_end,
    plural,
    quick_imports,
    reading_told,
    reduce,
    short,
    shortening_lines,
    stall_words,
    stored_view,
    to_json_line,
    trim_words,
)

from ..attaching import images_of_task, with_hint_images
from ..deciding.question import NOT_RECORDED
from ..ending import LATER
from ..setup.resuming import changes_from, find, way_on, with_decision
from ..setup.start import Setup
from ..text import bare, one_line, show
from .searching import SearchLines

TEXT_WIDTH = 48
"""Of the model's own words in such a line."""
WIDTH = 160
"""A line on stderr is cut there: it is for a look, the journal has the whole."""
_BATCH = 5_000


def run_headless(task: str | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Drive a new run in this process. The exit code. Raises RundryError."""
    setup = Setup(flags, headless=True)
    if not task:
        raise UserError('there is no task: use rundry run --headless "TASK", or - for standard input')
    return drive_new(setup, task, flags, as_json=as_json)


def drive_new(setup: Setup, task: str, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Drive the run that these options describe. The exit code. Raises RundryError."""
    with quick_imports():
        from rundry.agent import begin_here, refused_events  # the runner: a screen never needs it

    spec, blobs = images_of_task(setup.spec(task), setup.workspace)
    path = setup.folder / f"{spec.run_id}.db"
    printer = JsonPrinter() if as_json else LinePrinter(flags)
    show = _shown_by(printer)
    try:
        outcome = asyncio.run(begin_here(spec, path, on_event=show, tell=_say, notes=setup.notes, blobs=blobs))
    except Refusal as refusal:
        if isinstance(printer, JsonPrinter):
            for stamped in refused_events(spec, str(refusal), time.time()):
                show(stamped)
        raise
    return outcome.exit_code


def resume_headless(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    hint: str | None,
    since: int | None,
    as_json: bool,
    decided: ResumeChanges | None = None,
) -> int:
    """Drive a run that was left, in this process. The exit code. Raises RundryError."""
    path = find(ref, flags)
    changes = with_decision(changes_from(flags, hint, path), decided)
    printer = JsonPrinter() if as_json else LinePrinter(flags)
    journal = Journal.open(path)
    try:
        if journal.spec.loop is LoopKind.CHAT:
            raise UserError("a chat needs a person: resume this run without --headless")
        changes = with_hint_images(changes, journal)
        with reading_told(journal, _say):
            printer.take_up(journal, since)
        ended = last_end(journal)
    finally:
        journal.close()
    kept = NOT_RECORDED if decided is not None else "the run is unchanged"
    return _resume(path, printer, changes, kept, is_complete=ended is not None and ended.complete)


def outcome_line(ended: RunEnded | Outcome) -> str:
    """`-> done after 3 steps: check passed`."""
    gap = "" if ended.complete else " (not complete)"
    after = _passes(ended.passes) if ended.reason is Reason.DRY else plural(ended.steps, "step")
    return f"-> {ended.reason.value} after {after}: {one_line(ended.detail)}{gap}"


def search_lines(ended: RunEnded, found: int) -> list[str]:
    """What a search by lenses read, and an estimate of what it did not find; nothing for another run."""
    if ended.coverage is None:
        return []
    lenses = [
        f"{one_line(each.lens)} {plural(each.files, 'file')}, {plural(each.lines, 'line')}"
        for each in ended.coverage.lenses
    ]
    estimate = estimate_words(found, ended.estimate) + (" (an estimate)" if ended.estimate is not None else "")
    return [f"read  {coverage_words(ended.coverage)}", *(f"read  by {lens}" for lens in lenses), estimate]


def _model(name: str) -> str:
    return "no model" if name == "none" else name


def _passes(count: int) -> str:
    return f"{count:,} pass{'' if count == 1 else 'es'}"


class LinePrinter:
    """Progress for a person: one line a step, faults and stalls besides; then the answer, the way on, the outcome."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._flags = flags
        self._state = ViewState(blocks=Blocks(most=IN_MEMORY))
        self._first_block = 0
        self._starts: dict[str | None, int] = {}
        """Work of a try to the first block of its step."""
        self._search = SearchLines(self._state)

    def take_up(self, journal: Journal, since: int | None) -> None:
        """What is known already; from behind `since` on it is told again."""
        stored = stored_view(journal, most=IN_MEMORY) if since is None else None
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
            self._state.finder = facts_of(journal).finder

    def take(self, stamped: Stamped) -> None:
        """The next event, in order."""
        reduce(self._state, stamped)
        if isinstance(stamped.event, ItemDuplicate | ItemQueued):  # most events of a crawl
            return
        if self._state.finder is not None:
            for line in self._search.of(stamped):
                _say(line)
        match stamped.event:
            case RunStarted() as started:
                _say(f"{started.loop.value} {started.run_id} with {_model(started.model)} in {started.workspace}")
                for note in started.notes:
                    _say(note)
            case Said(images=images) if images:
                _say("  ".join(image.label for image in images))
            case RunResumed() as resumed:
                _say(f"resumed {resumed.run_id}")
                for note in resumed.notes:
                    _say(note)
            case StepStarted() if is_try(stamped.work):
                self._starts[stamped.work] = len(self._state.blocks)
            case StepFinished() as finished:
                self._step(stamped, finished)
            case CheckFinished(baseline=True) as check:
                _say(f"check {check.command}: {'passed' if check.passed else self._state.blocks[-1].right}")
                self._first_block = len(self._state.blocks)
            case DependenciesFound() | DependenciesRecorded() as folders:
                _say(dependency_line(folders))
            case ConfirmationFinished() as finished:
                _say(f"confirm {finished.command}: {confirming_words(finished)}")
                self._first_block = len(self._state.blocks)
            case Fault() as fault:
                again = "" if fault.retry_in is None else f", again in {fault.retry_in:.0f} s"
                _say(f"{fault.kind}: {fault.text}{again}")
            case PromptShortened() as shortened:
                for line in shortening_lines(shortened):
                    _say(line)
            case ContextTrimmed() as trimmed:
                _say(f"{trim_words(trimmed)}  {short(trimmed.dropped_tokens)} tokens")
            case StallDetected() as stall:
                what, signature, done = stall_words(stall)
                _say(f"{what}, {done}: {signature}")
            case PassFinished(verdict=verdict) if verdict:
                self._newest()
            case Sleeping() | ScoreMeasured() | ScoreNotMeasured() | TryFinished() | TryMeasured() | TryChosen():
                self._newest()
            case HandoffOpened() as handoff:
                _say(f"hand-off: {handoff.reason}: {handoff.suggested_action}")
            case RunEnded() as ended:
                self._end(ended)
            case _:
                pass

    def _step(self, stamped: Stamped, finished: StepFinished) -> None:
        blocks = self._state.blocks
        done: list[Block] | None = blocks[max(self._first_block, blocks.first) :]
        self._first_block = len(self._state.blocks)
        who = ""
        if is_try(stamped.work):
            start = self._starts.pop(stamped.work, len(self._state.blocks))
            done = [block for block in blocks[max(start, blocks.first) :] if block.work == stamped.work]
            who = self._state.trying.get(stamped.work or "", "")
        if self._state.finder is not None:
            done, who = self._search.step_blocks(stamped), self._search.who(stamped)
        if done is None:
            return
        words = [text for block in done if (text := _word(block))]
        spent = f"{short(self._state.spent.tokens.total)} tokens"
        said = f"{f'{one_line(who)}: ' if who else ''}{'; '.join(words) or 'nothing'}"
        _say(f"step {finished.number}  {said}  [{spent}, {finished.seconds:.1f} s]")

    def _newest(self) -> None:
        """What was just noted, as a line of its own."""
        block = self._state.blocks[-1]
        _say(f"{block.text or block.title}  {block.right}".rstrip())
        self._first_block = len(self._state.blocks)

    def _end(self, ended: RunEnded) -> None:
        if ended.answer:
            print(show(ended.answer) if sys.stdout.isatty() else bare(ended.answer), flush=True)
        state = self._state
        if ended.reason is Reason.HANDOFF and state.last_handoff is not None:
            digests = {name: opened.digest for name, opened in state.proposals.items()}
            record = handoff_markdown(state.last_handoff, run_id=state.run_id, journal=state.journal, waiting=digests)
            print(show(record), file=sys.stderr)
        if ended.evidence is not None:
            _say(f"evidence: {evidence_words(ended.evidence)}")
        if state.budget is not None:
            on = way_on(ended, state.run_id, state.budget, self._flags, waiting=state.proposals.values())
            if on is not None:
                print(one_line(on), file=sys.stderr)
        if state.finder is not None:
            for line in search_lines(ended, len(state.finder.found)):
                _say(line)
        print(outcome_line(ended), file=sys.stderr, flush=True)


class JsonPrinter:
    """The contract of docs/requirements.md 13.1."""

    def take_up(self, journal: Journal, since: int | None) -> None:
        """What was printed before is known already; from behind `since` on it is printed again."""
        for stamped in _earlier(journal, since) if since is not None else ():
            self.take(stamped)

    def take(self, stamped: Stamped) -> None:
        """The next event, in order."""
        sys.stdout.buffer.write(to_json_line(stamped) + b"\n")
        sys.stdout.buffer.flush()


def _earlier(journal: Journal, after: int = 0, without: Sequence[type[KnownEvent]] = ()) -> Iterator[Stamped]:
    """In pieces: a long search has millions."""
    while events := journal.read(after, _BATCH, without=without):
        yield from events
        after = events[-1].seq


def _resume(
    path: Path, printer: LinePrinter | JsonPrinter, changes: ResumeChanges, kept: str, *, is_complete: bool
) -> int:
    """A server that does not answer leaves the run as it was: trying later can help, unless nothing is left to do."""
    from rundry.agent import run_here

    try:
        return asyncio.run(run_here(path, on_event=_shown_by(printer), changes=changes, tell=_say)).exit_code
    except Unreachable as error:
        if is_complete:
            raise
        print(one_line(f"rundry: {error}; {kept}"), file=sys.stderr, flush=True)
        return LATER


def _shown_by(printer: LinePrinter | JsonPrinter) -> Callable[[Stamped], None]:
    lost = False

    def show(stamped: Stamped) -> None:
        nonlocal lost
        if lost:
            return
        try:
            printer.take(stamped)
        except BrokenPipeError:
            # whoever read us went away: the run goes on, its journal has all
            lost = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return show


def _word(block: Block) -> str:
    match block.kind:
        case "tool" | "edit" | "command" | "check":
            return " ".join(part for part in (one_line(block.title), one_line(block.right)) if part)
        case "text":
            text = one_line(block.text.strip().split("\n", 1)[0])
            return text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"
        case "question":
            return f"asks: {one_line(block.text)}"
        case _:
            return ""


def _say(text: str) -> None:
    line = one_line(text)
    print(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…", file=sys.stderr, flush=True)
