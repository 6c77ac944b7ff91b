"""Decide what follows an answer in a file format: another try, with its base and temperature, or the end.

Pure: the same facts give the same decision (docs/decisions/0038).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from ...protocol import (
    BY_TOOLS,
    FILE_FORMATS,
    NO_BASE,
    PART_TEMPERATURE,
    Again,
    Decision,
    FileFormat,
    Finish,
    PromptVariant,
    Reason,
    Restart,
    Stalled,
    Work,
)
from ...protocol.text.counts import plural
from ...state.facts.answer_facts import passed_in
from ...state.view.show.titles import stall_name
from .shared.loop_state import common_end, ended_work

if TYPE_CHECKING:
    from ...state.facts.answer_facts import Answers, TriedAnswer
    from ...state.facts.run_facts import RunFacts
    from .shared.loop_state import LoopState

TEMPERATURES = (0.0, 0.7, 1.0)
"""Temperatures of the answers in one format; later ones have the last value. An answer without a new program skips a
value."""
_ORDER: Sequence[FileFormat] = ("functions", "constrained", "whole", "blocks")
"""Formats as they follow each other: what one repeats unchanged, another of its kind repeats too (docs/decisions/0038).
"""
_COPIES = ("functions", "whole")
"""Formats in which the model writes code out again, so that it can repeat the file as it is."""
_USELESS = 4
"""Answers in a row without a new program, after which the next format is tried."""
_WARM = 2
"""Values of the temperature that are skipped if another format of this kind was tried."""
_VARIANTS: Sequence[PromptVariant] = ("output", "test")
"""Variants that alternate, because a model that one of them misleads may understand the other."""
_ROUNDS_AFTER = (2, 4, 8)
"""Numbers of answers after which each part of the file is asked for once."""
_PARTS_IN_A_FILE = 4
"""An answer to a part takes at most a quarter of the time of one to the file, with its check."""
_EACH_BEST = 2
"""How often the answers begin from one best state."""


def decide(state: LoopState) -> Decision:
    """Return what follows: a try, a restart before it, or the end of the run."""
    facts = state.facts
    if end := common_end(state):
        return with_summary(end, facts.answers) if isinstance(end, Finish) else end
    newest = facts.answers.newest
    if newest is None:
        asked = facts.answers.restart
        return _too_late(facts, of_parts=asked is not None and bool(asked.part)) or Again([Work()])
    if facts.answers.format not in FILE_FORMATS:  # the person chose tools after this answer
        kept = passed_in(facts.answers.start.values())
        return Restart(why="tools from here on", base=NO_BASE, format=BY_TOOLS, since=newest.seq, kept=kept)
    planned = _next(facts, newest)
    if isinstance(planned, Stalled):
        return planned
    end = _too_late(facts, of_parts=bool(planned.part))
    if end is not None and not planned.part and facts.may_ask_for_parts and _too_late(facts, of_parts=True) is None:
        return msgspec.structs.replace(planned, base=NO_BASE, temperature=PART_TEMPERATURE, variant="part", part=1)
    return end or planned


def start_over(state: LoopState) -> Restart | None:
    """Return the restart from the best state of a run with tools that stalled, or None if it does not start over."""
    facts = state.facts
    stall, (since, passed) = facts.stall, facts.answers.best
    if stall is None or stall.response != "restart" or ended_work(state) is not None:
        return None
    why = f"{stall_name(stall.kind)}: {stall.signature}"
    return Restart(why=why, base=NO_BASE, format=BY_TOOLS, since=since, kept=max(0, passed))


def with_summary(end: Finish, answers: Answers) -> Finish:
    """Return the end of a run in a file format: without a wrap-up call, and with what its answers led to."""
    if not answers.all:
        return msgspec.structs.replace(end, wrap_up=False)
    return msgspec.structs.replace(end, wrap_up=False, detail=f"{end.detail}; {answers_summary(answers)}")


def answers_summary(answers: Answers) -> str:
    """Return in words what the answers led to: how many, how many programs, and the best of them."""
    programs = len({one.digest for one in answers.all if one.is_checked})
    text = f"no repair in {plural(len(answers.all), 'answer')}, {plural(programs, 'program')}"
    best = max((one for one in answers.present if one.is_checked), key=lambda one: one.passed, default=None)
    if best is not None and best.passed > passed_in(answers.start.values()):
        text += f"; the best was answer {best.number} ({best.passed} passed)"
    return text


def _next(facts: RunFacts, newest: TriedAnswer) -> Restart | Stalled:
    """Return the restart after the newest answer, or why there is none."""
    answers, limit = facts.answers, facts.spec.restarts
    if limit is not None and answers.restarts >= limit:
        return Stalled(f"--restarts {limit}")
    if newest.is_refused and any(one.is_refused and one is not newest for one in answers.present[-2:]):
        return Stalled(f"the changes are refused ({newest.problem})")
    form, why, base = cast(FileFormat, answers.format), _said_of(newest), _base(answers, newest)
    here = _of_format(answers, form)
    if len(here) >= _USELESS and not any(_is_new(one) for one in here[-_USELESS:]):
        other = _other_format(answers)
        if other is None:
            return Stalled(f"the last {_USELESS} answers brought no new program, in each format")
        form, why, base = other, f"{why}; {other} instead of {form}", NO_BASE
    if part := _next_part(facts, newest):
        return Restart(why=why, base=NO_BASE, format=form, temperature=PART_TEMPERATURE, variant="part", part=part)
    variant = _VARIANTS[len(_whole(answers)) % len(_VARIANTS)]
    return Restart(why=why, base=base, format=form, temperature=_temperature(answers, form), variant=variant)


def _next_part(facts: RunFacts, newest: TriedAnswer) -> int:
    """Return the part of the file that the next answer is asked for. 0 means the file.

    A round asks for each part once.
    """
    answers = facts.answers
    if not facts.may_ask_for_parts:
        return 0
    if newest.part and newest.number > max(answers.since, answers.heard):
        return newest.part + 1 if newest.part < newest.parts else 0
    rounds = answers.rounds
    return int(rounds < len(_ROUNDS_AFTER) and len(_whole(answers)) >= _ROUNDS_AFTER[rounds])


def _whole(answers: Answers) -> Sequence[TriedAnswer]:
    """Return the answers to the present files that were asked for the file, and not for a part."""
    return [one for one in answers.all[max(answers.since, answers.heard) :] if not one.part]


def _temperature(answers: Answers, form: FileFormat) -> float:
    """Return the temperature of the next answer in a format: the first one is cold, unless its kind was tried."""
    kind = _COPIES if form in _COPIES else (form,)
    tried = [one for one in _whole(answers) if one.asked in kind]
    before = sum(one.asked != form for one in tried)
    here = [one for one in tried if one.asked == form]
    place = len(here) + sum(not _is_new(one) for one in here) + min(before, _WARM)
    return TEMPERATURES[min(place, len(TEMPERATURES) - 1)]


def _of_format(answers: Answers, form: FileFormat) -> Sequence[TriedAnswer]:
    """Return the newest answers since the run changed to this format."""
    tried = _whole(answers)
    first = next((i for i in range(len(tried), 0, -1) if tried[i - 1].asked != form), 0)
    return tried[first:]


def _other_format(answers: Answers) -> FileFormat | None:
    """Return a format in which no answer to the present files was asked for, or None if there is none."""
    used = {one.asked for one in answers.all[max(answers.since, answers.heard) :]}
    return next((form for form in _ORDER if form not in used), None)


def _is_new(answer: TriedAnswer) -> bool:
    return answer.is_checked and not answer.same_as


def _base(answers: Answers, newest: TriedAnswer) -> int:
    """Return the base of the next answer: that answer, if it is better than its own base; else the start.

    Every second time it is the best state so far, at most twice for each.
    """
    start = passed_in(answers.start.values())
    before = next((one.passed for one in answers.present if one.number == newest.base), start)
    if newest.is_checked and newest.passed > before and _times(answers, newest) == 0:
        return newest.number
    best = max((one for one in answers.present if one.is_checked), key=lambda one: one.passed, default=None)
    is_turn = len(answers.present) % 2 == 0
    if best is not None and best.passed > start and is_turn and _times(answers, best) < _EACH_BEST:
        return best.number
    return NO_BASE


def _times(answers: Answers, base: TriedAnswer) -> int:
    return sum(one.base == base.number for one in answers.present)


def _said_of(answer: TriedAnswer) -> str:
    """Return what an answer led to, in words for the person."""
    if answer.same_as:
        return f"the program of answer {answer.same_as} again"
    if not answer.is_checked and not answer.problem:
        return "an answer that was not tried, because the run was interrupted"
    if answer.problem:
        return f"an answer that cannot be used ({answer.problem.rstrip('.')})"
    failing = sum(check.failing or 0 for check in answer.checks.values())
    return f"the check fails{f' ({failing} failing, {answer.passed} passed)' if failing else ''}"


def _too_late(facts: RunFacts, *, of_parts: bool) -> Finish | None:
    """Return the end of a run whose time left is shorter than its quickest answer of this kind with its check took.

    Before the first answer to a part, a quarter of that of the quickest other answer counts.
    """
    limit, checked = facts.budget.seconds, [one for one in facts.answers.present if one.is_checked and one.seconds]
    took = [one.seconds for one in checked if bool(one.part) is of_parts]
    if of_parts and not took:
        took = [one.seconds / _PARTS_IN_A_FILE for one in checked]
    quickest = min(took or [one.seconds for one in checked], default=None)
    if limit is None or quickest is None or limit - facts.spent.seconds >= quickest:
        return None
    left = max(0.0, limit - facts.spent.seconds)
    detail = f"time budget: {left:.0f} s left, and the quickest answer with its check took {quickest:.0f} s"
    return with_summary(Finish(reason=Reason.BUDGET, detail=detail, limit="seconds"), facts.answers)
