"""`rundry apply`: show what a run staged, and apply what is accepted. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rundry.agent import (
    BY_DIGEST,
    Applied,
    Decide,
    RundryError,
    UserError,
    drop_all_left,
    drop_stage,
    effects_title,
    newest_staged,
    newest_undecided,
    open_kept,
    open_stage,
)

from ..control.review_words import LEFT_STAGED, NOT_APPLIED, applied_lines, exit_code_of
from ..control.stage_decision import accepts, unprotected
from ..plain.is_plain import is_plain
from ..plain.plain_proposals import decision, effects_lines, entry_diff_lines, parse_verdict
from ..start.resuming import find_any_own
from ..start.run_folders import folder_of, workspace_of
from ..text.json_out import print_json
from ..text.show_text import one_line, show

if TYPE_CHECKING:
    from rundry.agent import KeepReview, ProposalOpened, StageReview

    _Review = StageReview | KeepReview

_INTERRUPTED = 130
_ONLY_PROTECTED = (
    "Nothing was applied: a person has to approve all of it. Call rundry apply on a terminal, without --digest."
)
_KEEP_HINT = "Type approve, approve entries 1 2, show entry 1, or quit. A file is accepted or skipped as a whole."
_HINT = "Type approve, approve entries 1 2, show entry 1, or quit. Entries that you do not approve stay staged."


def apply(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    digest: str | None,
    patch: str | None,
    branch: str | None,
    drop: bool,
    drop_all: bool,
    as_json: bool,
) -> int:
    """Show or apply what the run staged, and return the exit code. Raises RundryError."""
    _refuse_several(
        {
            "--digest": digest is not None,
            "--patch or --branch": patch is not None or branch is not None,
            "--drop": drop,
            "--drop-all": drop_all,
        }
    )
    if drop_all:
        for line in drop_all_left(workspace_of(flags), folder_of(flags)):
            print(one_line(line))
        return 0
    path = staged_run(ref, flags)
    if drop:
        drop_stage(path)
        print("dropped")
        return 0
    return _interruptible(_apply(path, digest=digest, patch=patch, branch=branch, as_json=as_json))


def keep(ref: str | None, flags: Mapping[str, object], *, digest: str | None, is_alone: bool, as_json: bool) -> int:
    """Show or accept what nobody decided on, and return the exit code. `is_alone`: no other decision was given.

    Raises RundryError.
    """
    if not is_alone:
        raise UserError("--keep accepts changes that are in the workspace already: only --digest and --json fit it")
    run = ref or newest_undecided(workspace_of(flags), folder_of(flags))
    if run is None:
        raise UserError("there is no change in this folder that a run made and nobody decided on")
    return _interruptible(_keep(find_any_own(run, flags), digest=digest, as_json=as_json))


def _interruptible(work: Coroutine[Any, Any, int]) -> int:
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        line = "Interrupted. What was accepted is applied as a whole, and `rundry apply` shows what stays staged."
        print(one_line(line), file=sys.stderr)
        return _INTERRUPTED


def _refuse_several(given: Mapping[str, bool]) -> None:
    """Raise UserError for two decisions, of which only one would be carried out."""
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise UserError(f"{' and '.join(names)} cannot be used together: call rundry apply once for each")


def staged_run(ref: str | None, flags: Mapping[str, object]) -> Path:
    """Return the journal of this run, or of the newest one here with something staged. Raises RundryError."""
    return find_any_own(ref or newest_staged(workspace_of(flags), folder_of(flags)), flags)


def has_screen(flags: Mapping[str, object]) -> bool:
    """Return whether a person can decide on a screen."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty() and not is_plain(flags)


async def _apply(path: Path, *, digest: str | None, patch: str | None, branch: str | None, as_json: bool) -> int:
    async with open_stage(path, dict(os.environ), lambda line: print(one_line(line), file=sys.stderr)) as review:
        if review.is_empty:
            if (patch is not None or branch is not None) and review.is_refused:
                return _written(review, patch, branch)
            if patch is not None or branch is not None:
                raise UserError(f"nothing is staged in run {review.run_id} any more, so there is nothing to write")
            if not as_json and not review.is_refused:
                _show_notes(review)
                print(one_line(f"Nothing is staged in run {review.run_id} any more."))
            return _done(review, await review.apply(unprotected(review.shown)), as_json=as_json)
        if patch is not None or branch is not None:
            return _written(review, patch, branch)
        if digest is not None:
            return _done(review, await _by_digest(review, digest), as_json=as_json)
        if as_json:
            print_json(_as_json(review))
            return NOT_APPLIED
        is_asked = sys.stdin.isatty() and sys.stdout.isatty()
        _show(review, f"Staged by run {review.run_id}", all_diffs=not is_asked)
        _show_notes(review)
        if not is_asked:
            print(one_line(_how_to_apply(review)))
            return NOT_APPLIED
        print(one_line(_HINT))
        asked = _ask(review, _HINT)  # nothing else happens meanwhile, and Ctrl+C cannot end a thread that reads
        if asked is None:
            print(one_line(LEFT_STAGED))
            return NOT_APPLIED
        return _done(review, await review.apply(asked), as_json=False)


async def _keep(path: Path, *, digest: str | None, as_json: bool) -> int:
    """Show what nobody decided on, and accept what the person says, or all of it if the digest is that of it."""
    async with open_kept(path, dict(os.environ), lambda line: print(one_line(line), file=sys.stderr)) as review:
        shown, command = review.shown, f"rundry apply {review.run_id} --keep"
        if digest is not None:
            _refuse_other(digest, shown, "undecided", command)
            every = Decide(proposal_id="", digest=shown.digest, verdict="approve", channel=BY_DIGEST)
            return _done(review, await review.apply(every), as_json=as_json)
        if as_json:
            print_json(_as_json(review))
            return NOT_APPLIED
        is_asked = sys.stdin.isatty() and sys.stdout.isatty()
        _show(review, f"In the workspace of run {review.run_id}, undecided", all_diffs=not is_asked)
        if not is_asked:
            print(one_line(f"To accept it: {command} --digest {shown.digest[:_SHORTEST]}"))
            return NOT_APPLIED
        print(one_line(_KEEP_HINT))
        asked = _ask(review, _KEEP_HINT)
        if asked is None:
            print("Nothing was accepted. It stays undecided.")
            return NOT_APPLIED
        return _done(review, await review.apply(asked), as_json=False)


def _how_to_apply(review: StageReview) -> str:
    """Return a line about the next command where there is no terminal."""
    chosen, command = unprotected(review.shown), f"rundry apply {review.run_id}"
    if not chosen.entries:
        return f"To apply it: {command} --digest {review.shown.digest[:_SHORTEST]}"
    if not accepts(review.shown, chosen):
        return f"A person has to approve all of it: call {command} on a terminal."
    how = f"{command} --digest {review.shown.digest[:_SHORTEST]}"
    return f"To apply all but protected files and commits, which stay staged: {how}"


def _written(review: StageReview, patch: str | None, branch: str | None) -> int:
    """Write the stage elsewhere. It stays staged."""
    if patch is not None:
        try:
            review.write_patch(Path(patch))
        except OSError as error:
            raise UserError(f"--patch {patch}: {error.strerror or error}") from None
        print(one_line(patch))
    if branch is not None:
        print(one_line(f"{branch} {review.make_branch(branch)}"))
    return 0


def _show(review: _Review, title: str, *, all_diffs: bool) -> None:
    effects = review.shown.effects
    if effects is not None:
        print(show(f"{title}: {effects_title(effects)}."))
        for line in effects_lines(effects, review.content, all_diffs=all_diffs):
            print(show(line))


def _show_notes(review: StageReview) -> None:
    for note in review.notes:
        print(f"Note: {one_line(note)}")


def _ask(review: _Review, hint: str) -> Decide | None:
    """Read what the person decides, or None if nothing is applied now. `hint`: what can be typed."""
    while True:
        line = _read_line()
        if line is None:
            return None
        try:
            verdict = parse_verdict(line)
            if verdict is None and line.strip() in ("quit", "q", ""):
                return None
            if verdict is None or verdict.verb not in ("approve", "show", "reject"):
                print(one_line(hint))
            elif verdict.verb == "reject":
                return None
            elif verdict.verb == "show":
                _show_entries(review, verdict.entries)
            else:
                return decision(verdict, review.shown, review.shown.digest, "")
        except RundryError as error:
            print(one_line(str(error)))


def _read_line() -> str | None:
    """Read a line, or None if the person pressed Ctrl+C or Ctrl+D."""
    of_loop = signal.signal(signal.SIGINT, signal.default_int_handler)  # that of the loop waits for the end of the line
    try:
        return input("> ")
    except (EOFError, KeyboardInterrupt):
        print()
        return None
    finally:
        signal.signal(signal.SIGINT, of_loop)


def _show_entries(review: _Review, entries: tuple[int, ...]) -> None:
    effects = review.shown.effects
    if effects is None:
        return
    for number in entries:
        for line in entry_diff_lines(effects, number, review.content):
            print(show(line))


async def _by_digest(review: StageReview, digest: str) -> Applied:
    """Apply all but protected files. Raises UserError if the digest is another one."""
    shown = review.shown
    _refuse_other(digest, shown, "staged", f"rundry apply {review.run_id}")
    chosen = unprotected(shown)
    if chosen.entries and not accepts(shown, chosen):
        return Applied(lines=[_ONLY_PROTECTED], is_over=False, skipped=True)
    return await review.apply(chosen)


def _refuse_other(digest: str, shown: ProposalOpened, what: str, command: str) -> None:
    """Raise UserError for a digest that is not that of what is shown now."""
    if len(digest) < _SHORTEST or not shown.digest.startswith(digest):
        raise UserError(f"--digest {digest} is not that of what is {what} now: look at it again with `{command}`")


_SHORTEST = 12
"""Characters of a digest that have to be given."""


def _done(review: _Review, applied: Applied, *, as_json: bool) -> int:
    code = exit_code_of(applied)
    if as_json:
        print_json({"run_id": review.run_id, "applied": applied, "exit_code": code})
    else:
        for line in applied_lines(review.run_id, applied):
            print(show(line))
    return code


def _as_json(review: _Review) -> Mapping[str, object]:
    effects = review.shown.effects
    return {
        "run_id": review.run_id,
        "digest": review.shown.digest,
        "entries": [] if effects is None else effects.entries,
        "along": "" if effects is None else effects.along,
        "notes": review.notes,
        "diff": review.shown.diff,
    }
