"""What follows a judgement of a result whose predicates hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....protocol import Finish, JudgeResult, Reason, look_first_words
from .loop_state import suspects_left

if TYPE_CHECKING:
    from ....protocol import Judged
    from .loop_state import LoopState


def judge_first(state: LoopState) -> JudgeResult | None:
    """Return the decision to judge a result, or None if it is judged already, or never in this run."""
    return JudgeResult() if state.judges and not state.facts.verdicts.is_judged else None


def judge_missing_tests(state: LoopState) -> JudgeResult | None:
    """Return the decision to judge a result of which only tests are missing, before it is handed over.

    If undecided changes removed these tests, they run in the view.
    """
    verdicts, found = state.facts.verdicts, suspects_left(state.facts)
    is_new = verdicts.checked_seq > verdicts.prompted_seq and not state.facts.spec.predicates.any
    return judge_first(state) if found and is_new and all(check.is_fewer for check in found) else None


def judged_end(state: LoopState) -> Finish | None:
    """Return the end of a run whose result the judge does not let pass.

    Returns None if the model continues with the reason.
    """
    verdicts = state.facts.verdicts
    judged = verdicts.judgement
    if judged is None:
        return None
    is_told = verdicts.prompted_seq > verdicts.judgement_seq
    match judged.why:
        case "budget":
            return Finish(reason=Reason.BUDGET, detail=judged.detail, limit="seconds", wrap_up=True)
        case "conditions" if not verdicts.is_red_again:
            return None
        case _ if is_told and judged.why != "holdout":  # the person let it continue
            return None
        case _:
            return red_handoff(judged)


def red_handoff(judged: Judged) -> Finish:
    """Return the hand-off of a result that the judge does not let pass."""
    return Finish(reason=Reason.HANDOFF, detail=with_help(judged.detail, judged.help), judged=True)


def with_options(judged: Judged) -> str:
    """Return why a result is not let pass, with all options: for a line that stands alone."""
    parts = with_help(judged.detail, judged.help), look_first_words(judged.look_first)
    return "; ".join(filter(None, parts))


def with_help(why: str, helps: Sequence[str]) -> str:
    """Return why a result is not let pass, with the options that let the next run pass."""
    return f"{why}; to let the run change it: {' '.join(helps)}" if helps else why
