"""Name the command that resumes an ended run, and the limit that it raises. Does not import textual."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import SHORT_DIGEST, LoopKind, Reason, reached_limit, void_words

if TYPE_CHECKING:
    from rundry.agent import Budget, HandoffOpened, Outcome, ProposalOpened, RunEnded, ViewState


def way_on(
    ended: RunEnded | Outcome,
    run_id: str,
    budget: Budget,
    flags: Mapping[str, object],
    *,
    attended: bool = False,
    waiting: Iterable[ProposalOpened] = (),
    handoff: HandoffOpened | None = None,
) -> str | None:
    """Return `resume with: rundry resume RUN --steps 60 --headless`, or None if nothing is left to do.

    After a budget it names the option that raises the limit, above its present value. `attended`: the run has a screen.
    `waiting`: the open proposals; the first one needs a decision. `handoff`: that of the run.
    """
    if ended.complete or ended.reason is Reason.REFUSED or void_words(ended):
        return None
    words, headless = ["rundry", "resume", run_id], [] if attended else ["--headless"]
    if flags.get("runs_dir"):
        words += ["--runs-dir", shlex.quote(str(flags["runs_dir"]))]
    if ended.reason is Reason.HANDOFF and (opened := next(iter(waiting), None)) is not None:
        named = [*words[2:], "--digest", opened.digest[:SHORT_DIGEST], *headless]
        return f"decide with: {' '.join(['rundry', 'approve', *named])} (or: rundry reject)"
    if ended.reason is Reason.HANDOFF and handoff is not None and (child := handoff.record.staged_child):
        decides = " ".join(["rundry", "apply", child, *words[3:]])
        return f"decide with: {decides}, then resume with: {' '.join([*words, *headless])}"
    match ended.reason:
        case Reason.BUDGET:
            words += [*_raised(ended, budget), *headless]
        case Reason.USER | Reason.ERROR | Reason.DRY:
            words += headless
        case _:
            words += ["--hint", '"..."']
    return f"resume with: {' '.join(words)}"


def continue_line(state: ViewState, flags: Mapping[str, object], *, attended: bool = True) -> str | None:
    """Return the command that continues a run, also one that is complete, or None if nothing can be continued."""
    ended, elsewhere = state.outcome, bool(flags.get("runs_dir"))
    if not state.run_id or (ended is not None and ended.reason is Reason.REFUSED):
        return None
    if ended is not None and state.accepted is not None:
        where = f" --runs-dir {shlex.quote(str(flags['runs_dir']))}" if elsewhere else ""
        return f"carry out with: rundry resume {state.run_id}{where}"
    if ended is not None and state.budget is not None and state.loop is not LoopKind.CHAT:
        on = way_on(
            ended,
            state.run_id,
            state.budget,
            flags,
            attended=attended,
            waiting=state.proposals.values(),
            handoff=state.last_handoff,
        )
        if on is not None:
            return on
    where = f" --runs-dir {shlex.quote(str(flags['runs_dir']))}" if elsewhere else ""
    if state.loop is LoopKind.CHAT:
        here = "" if elsewhere else " (here also: rundry -c)"
        return f"continue with: rundry resume {state.run_id}{where}{here}"
    hint = ' --hint "..."' if ended is not None else ""
    return f"continue with: rundry resume {state.run_id}{where}{hint}"


def raised(ended: RunEnded | Outcome, budget: Budget) -> tuple[str, str] | None:
    """Return the limit that was reached and a higher value, or None if no limit ended the run.

    The value is above the limit and above what was used.

    The limit may have been lowered below what was used.
    """
    match reached_limit(ended):
        case "deadline":
            return "deadline", "10m"
        case "steps" if budget.steps is not None:
            most = max(budget.steps, ended.steps)
            return "steps", str(max(most + 1, math.ceil(most * 1.5)))
        case "tokens" if budget.tokens is not None:
            return "tokens", str(max(2 * budget.tokens, 2 * ended.tokens.total, 10_000))
        case "usd" if budget.usd is not None:
            return "usd", f"{max(2 * budget.usd, 2 * (ended.usd or 0.0), 0.1):g}"
        case "seconds" if budget.seconds is not None:
            seconds = max(60, math.ceil(2 * max(budget.seconds, ended.seconds)))
            return "time", f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"
        case _:
            return None


def ended_on_limit(state: ViewState) -> bool:
    """Return whether the run ended on a limit, so that raising it resumes the run."""
    return state.outcome is not None and state.budget is not None and raised(state.outcome, state.budget) is not None


def _raised(ended: RunEnded | Outcome, budget: Budget) -> list[str]:
    found = raised(ended, budget)
    return [] if found is None else [f"--{found[0]}", found[1]]
