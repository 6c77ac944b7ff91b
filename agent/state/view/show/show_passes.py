"""Show passes: start, result and score."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ....protocol import PassFinished, PassKept, PassStarted, PatchKept, ScoreMeasured, ScoreNotMeasured, Stamped
from ....protocol.text.counts import plural
from .change_blocks import note

if TYPE_CHECKING:
    from ..view_state import ViewState

_SHORT = 9
"""Number of characters of a commit id."""


def show_pass(state: ViewState, stamped: Stamped, event: PassStarted | PatchKept | PassKept | PassFinished) -> None:
    """Show an event of a pass."""
    match event:
        case PassStarted():
            state.pass_number = event.number
            if event.fresh:
                state.plan = []
            is_of_run = event.tries == 1 and (state.improve is None or state.improve.pass_loop is None)
            state.pass_step = (state.step or 0) + 1 if is_of_run else None  # other passes have steps of their own
            state.running_tries.clear()
            state.newest_try = ""
            if is_of_run or event.tries > 1:  # the entry of a child run names its pass
                note(state, stamped, f"pass {event.number}" + (f": {event.tries} tries" if event.tries > 1 else ""))
        case PatchKept():
            state.rolling_back = event  # one line reports all of it when it is done
        case PassKept():
            pass  # the end of the pass follows immediately
        case PassFinished():
            _finished(state, stamped, event)
        case _:
            assert_never(event)


def show_score(state: ViewState, stamped: Stamped, event: ScoreMeasured) -> None:
    """Show the measured score of a pass."""
    state.scores.append(event)
    title = "baseline" if event.number == 0 else f"pass {event.number}"
    title += f", try {event.candidate} of {event.tries}" if event.candidate else ""
    state.stale, state.unmeasured = event.stale_passes, 0
    right = "" if event.number == 0 else "kept" if event.kept else "not better"
    spread = "" if event.noise is None else f" ± {event.noise:g} (median of {len(event.values)})"
    noise = ", within noise" if event.within_noise else ""
    note(state, stamped, f"{title}: score {event.score:g}{spread}, best {event.best:g}", right=right + noise)


def show_no_score(state: ViewState, stamped: Stamped, event: ScoreNotMeasured) -> None:
    """Show that the score of a pass could not be measured."""
    state.unmeasured = event.in_a_row
    times = f"{event.in_a_row} in a row" if event.in_a_row > 1 else ""
    note(state, stamped, f"pass {event.number}: score not measured, the command {event.why}", right=times)


def _finished(state: ViewState, stamped: Stamped, event: PassFinished) -> None:
    patch, state.pass_step, state.rolling_back = state.rolling_back, None, None
    state.running_tries.clear()
    state.newest_try = ""
    is_measured = bool(state.scores) and state.scores[-1].number == event.number
    if event.verdict in ("reverted", "unchanged") and not is_measured:
        state.stale += 1
    if not event.verdict:
        return
    what = f"pass {event.number} {_VERDICTS.get(event.verdict, event.verdict)}"
    why = f": {event.why}" if event.why else ""
    again = f", the same change as pass {event.repeats}" if event.repeats is not None else ""
    where = f"commit {event.commit[:_SHORT]}" if event.commit else plural(len(event.files), "file") * bool(event.files)
    stays = "decide" if event.dropped else "left as it is"
    left = [line if "left as it is" in line else f"{stays}: {line}" for line in event.left]
    commits = "" if patch is None or not patch.commits else f", {plural(len(patch.commits), 'commit')} kept"
    lines = [*event.files, *left, *_kept(patch)]
    right = where + ", patch kept" * (patch is not None) + commits
    note(state, stamped, what + why + again, right=right.removeprefix(", ")).detail = "\n".join(lines)


def _kept(patch: PatchKept | None) -> list[str]:
    """Describe where to find what was rolled back."""
    if patch is None:
        return []
    bundle = [] if patch.bundle is None else [f"the commits are in the journal, as a git bundle: {patch.bundle}"]
    return [f"the patch is in the journal: {patch.patch}", *bundle, *patch.commits, *patch.history]


_VERDICTS = {
    "kept": "kept",
    "reverted": "rolled back",
    "unchanged": "changed nothing",
    "skipped": "was skipped",
    "unmeasured": "rolled back",
    "undecided": "waits for your decision",
}
