"""`rundry ctl`: send one command to a run and print one line with its answer. Scripts use it in place of keys."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from rundry.agent import (
    Budget,
    Command,
    Decide,
    Journal,
    Judge,
    Merge,
    RunEnded,
    RunHeld,
    RunState,
    Session,
    Undo,
    Undone,
    UserError,
    drop_stage,
    end_word,
    find_run,
    holder,
    last_end,
    list_runs,
    run_state,
    staged_in,
    void_words,
)

from ..control.asked_proposal import Declined
from ..control.end_words import outcome_line
from ..control.resume_command import raised, way_on
from ..control.waiting import NoAnswer, blocking, until_answered
from ..start.attach_images import with_images
from ..start.run_folders import folder_of, workspace_of
from ..text.json_out import print_json
from ..text.show_text import one_line
from .verbs import QUEUED, STAGE, VERBS, Given, commands_of, near, verb_of

ANSWER_SECONDS = 5.0
"""Seconds within which a runner must take a command out of the inbox."""
LOOK_SECONDS = 0.01
ALONE = ("undo", "judge", "merge")
"""Verbs that also work for a run without a runner."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a command, as `--json` prints it."""

    run_id: str
    verb: str
    taken: bool
    why: str | None
    """Why the command was refused."""
    seconds: float
    """Time from the command to its answer."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A queued message, as `--json` prints it."""

    number: int
    text: str
    images: int


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `stage --json`."""

    run_id: str
    verb: str = STAGE
    staged: list[str]
    """Paths of the files that are staged, as far as the run knows them."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `queued --json`."""

    run_id: str
    verb: str = QUEUED
    queued: list[Message]


def control(words: Sequence[str], flags: Mapping[str, object], *, as_json: bool) -> int:
    """Send one command and print its answer.

    Return 0 if it was accepted, 1 if the run refused it; of `stage apply` the code of `rundry apply`.
    Raises RundryError.
    """
    ref, given = _given(words, flags)
    verb_of(given.verb)
    if given.verb == STAGE:
        return _control_stage(ref, given, flags, as_json=as_json)
    path = find_run(ref, folder_of(flags), None) if ref is not None else _newest_live(flags)
    if given.verb == QUEUED:
        return _list_queue(path, given, as_json=as_json)
    session = Session(Journal.open(path), "ctl")  # not attached: no view is open for longer than this
    try:
        answered = _ask(session, path, given, flags)
    except Declined:
        print("no decision was made: the proposal stays open")
        return 1
    finally:
        session.close()
    code = _print(answered, given.verb, as_json=as_json)
    if answered.taken and given.verb == "undo" and not as_json:
        _print_undone(path)
    return code


def _print_undone(path: Path) -> None:
    """Print what the newest undo left as it is, and that the outcome of an ended run does not hold after it."""
    journal = Journal.open_for_reading(path)
    try:
        ended = last_end(journal)
        newest = [stamped.event for stamped in journal.read_types([Undone])][-1:]
    finally:
        journal.close()
    for undone in newest:
        for line in undone.kept if isinstance(undone, Undone) else ():
            print(one_line(f"not undone: {line}"))
    if ended is not None and void_words(ended):
        print(one_line(outcome_line(ended)))


def put_decision(path: Path, command: Decide, *, as_json: bool) -> int:
    """Send a decision to the runner of a live run.

    Return 0 if it was accepted, 1 if it was refused. Raises RundryError.
    """
    session = Session(Journal.open(path), "ctl")
    try:
        answered = _put(session, path, [command], command.verdict)
    finally:
        session.close()
    return _print(answered, command.verdict, as_json=as_json)


def _print(answered: Answered, verb: str, *, as_json: bool) -> int:
    if as_json:
        print_json(answered)
    elif answered.taken:
        print(one_line(f"{answered.run_id}  {verb}  accepted"))
    else:
        print(f"rundry: {answered.run_id} refused {verb}: {one_line(answered.why or '')}", file=sys.stderr)
    return 0 if answered.taken else 1


def _list_queue(path: Path, given: Given, *, as_json: bool) -> int:
    journal = Journal.open(path)
    try:
        state = run_state(journal)
    finally:
        journal.close()
    commands_of(given, state)
    run_id = journal.spec.run_id
    messages = [Message(number=n, text=one.text, images=len(one.images)) for n, one in sorted(state.queue.items())]
    if as_json:
        print_json(Listed(run_id=run_id, queued=messages))
        return 0
    for message in messages:
        print(f"{message.number:>4}  {one_line(message.text)}")
    if not messages:
        print(one_line(f"{run_id}  no message is queued"))
    return 0


def _control_stage(ref: str | None, given: Given, flags: Mapping[str, object], *, as_json: bool) -> int:
    """List, apply or drop what a run staged. No runner may have it for the last two."""
    from .applying import apply, staged_run

    path = staged_run(ref, flags)
    journal = Journal.open_for_reading(path)
    try:
        commands_of(given, run_state(journal))
        staged, run_id = staged_in(journal), journal.spec.run_id
    finally:
        journal.close()
    if not given.words:
        if as_json:
            print_json(Staged(run_id=run_id, staged=staged))
        else:
            for name in staged or [f"{run_id}  nothing is staged"]:
                print(one_line(name))
        return 0
    if "apply" in given.words:
        return apply(
            str(path), flags, digest=given.digest, patch=None, branch=None, drop=False, drop_all=False, as_json=as_json
        )
    began, why = time.monotonic(), None
    try:
        drop_stage(path)
    except RunHeld as held:
        why = str(held)
    seconds = round(time.monotonic() - began, 3)
    return _print(
        Answered(run_id=run_id, verb=STAGE, taken=why is None, why=why, seconds=seconds), "stage drop", as_json=as_json
    )


def _given(words: Sequence[str], flags: Mapping[str, object]) -> tuple[str | None, Given]:
    """Return the run, if one is named, and the verb with its arguments. A verb in the first place names no run."""
    if not words:
        raise UserError(f"ctl needs a run and a verb: {', '.join(VERBS)}")
    ref, rest = (None, words) if words[0] in VERBS else (words[0], words[1:])
    if not rest:
        raise UserError(f"ctl {one_line(words[0])[:40]}: {near(words[0])}add a verb: {', '.join(VERBS)}")
    reason, api_base, digest = flags.get("reason"), flags.get("api_base"), flags.get("digest")
    return ref, Given(
        verb=rest[0],
        words=rest[1:],
        now=bool(flags.get("now")),
        reason=None if reason is None else str(reason),
        digest=None if digest is None else str(digest),
        api_base=None if api_base is None else str(api_base),
        unsandboxed=bool(flags.get("unsandboxed")),
    )


def _newest_live(flags: Mapping[str, object]) -> Path:
    folder, workspace = folder_of(flags), str(workspace_of(flags))
    for line in list_runs(folder):
        if line.workspace == workspace and holder(Path(line.path)) is not None:
            return Path(line.path)
    raise UserError(f"no run of {workspace} is running: name a run (`rundry runs` lists them)")


def _ask(session: Session, path: Path, given: Given, flags: Mapping[str, object]) -> Answered:
    journal = session.journal
    assert journal is not None  # it is attached to one
    state = run_state(journal)
    is_alone = holder(path) is None
    if is_alone and given.verb not in ALONE:
        raise UserError(_nobody_drives(journal, state, flags))
    if state.ended is not None and not VERBS[given.verb].after_end:
        raise UserError(
            f"{_ended(journal, state)}: {given.verb} is not possible any more{_way_on(journal, state, flags)}"
        )
    return _put(session, path, with_images(commands_of(given, state), journal), given.verb)


def _put(session: Session, path: Path, commands: Sequence[Command], verb: str) -> Answered:
    journal, is_alone = session.journal, holder(path) is None
    assert journal is not None  # it is attached to one
    began, after = time.monotonic(), journal.last_seq()
    why: str | None = None
    for command in commands:
        number = (
            session.put_without_runner(command)
            if is_alone and isinstance(command, Undo | Judge | Merge)
            else session.put(command)
        )
        try:
            why = blocking(
                until_answered(journal, number, after, seconds=ANSWER_SECONDS, is_alone=is_alone), LOOK_SECONDS
            )
        except NoAnswer as silent:
            why = str(silent)
        if why is not None:
            break
    seconds = round(time.monotonic() - began, 3)
    return Answered(run_id=journal.spec.run_id, verb=verb, taken=why is None, why=why, seconds=seconds)


def _nobody_drives(journal: Journal, state: RunState, flags: Mapping[str, object]) -> str:
    if state.ended is not None:
        return _ended(journal, state) + _way_on(journal, state, flags)
    run_id = journal.spec.run_id
    if state.decidable_without_runner():
        return f"{run_id} has no runner: decide with rundry approve {run_id} or rundry reject {run_id}"
    return f"{run_id} has no runner and has not ended: continue it with rundry resume {run_id}"


def _ended(journal: Journal, state: RunState) -> str:
    assert state.ended is not None  # the caller checked this
    return f"{journal.spec.run_id} has ended ({end_word(state.ended)}: {one_line(state.ended.detail)})"


def _way_on(journal: Journal, state: RunState, flags: Mapping[str, object]) -> str:
    assert state.ended is not None  # the caller checked this
    is_held = holder(journal.path) is not None  # a second runner would be refused
    words = _in_place if is_held else way_on
    way = words(state.ended, journal.spec.run_id, state.budget, flags)
    return f"; {way}" if way else ""


def _in_place(ended: RunEnded, run_id: str, budget: Budget, flags: Mapping[str, object]) -> str:
    """Return the command that resumes the run while a screen still holds it."""
    words, limit = ["rundry", "ctl", run_id], raised(ended, budget)
    if flags.get("runs_dir"):
        words += ["--runs-dir", shlex.quote(str(flags["runs_dir"]))]
    words += ["queue", '"..."'] if limit is None else ["limit", f"{limit[0]}={limit[1]}"]
    return f"a screen still holds it: continue with {' '.join(words)}"
