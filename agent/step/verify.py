"""Asks the success predicates after a step. What passed is an event; the loop decides from it."""

from __future__ import annotations

import msgspec

from ..journal.actions import arguments_of
from ..journal.conversation import last_text
from ..protocol import CheckFinished, CheckStarted, PredicateJudged, Record, Verify
from ..stops import Verdict, judge_file, judge_python, judge_required, judge_schema, run_check
from .kit import Kit


async def verify(kit: Kit, record: Record, *, claim: bool, baseline: bool = False) -> None:
    """`claim`: the model stopped calling tools or called `finish`. A `baseline` is asked before the first call."""
    wanted = kit.facts.spec.predicates
    if not wanted.exist:
        return
    if baseline or _is_due(kit, claim=claim):
        for command in wanted.until:
            await _check(kit, command, record, baseline=baseline)
        for path in wanted.until_py:
            with kit.watch.running():
                verdict = await kit.interruptible(
                    judge_python(path, kit.workspace, _state(kit), env=kit.env, timeout=_seconds(kit))
                )
            _judged(verdict, record)
    for path in wanted.until_file:
        _judged(judge_file(path, kit.workspace), record)
    for action in wanted.require:
        _judged(judge_required(action, kit.facts.actions), record)
    if wanted.schema is not None and claim:
        _judged(judge_schema(wanted.schema, _answer(kit), kit.workspace.root), record)
    kit.verified_world, kit.unverified = kit.facts.world, False


def _is_due(kit: Kit, *, claim: bool) -> bool:
    """A check that has no verdict yet is always due."""
    wanted = kit.facts.spec.predicates
    if any(command not in kit.facts.verdicts.checks for command in wanted.until):
        return True
    match wanted.verify:
        case Verify.EVERY_STEP:
            return True
        case Verify.ON_CHANGE:
            return kit.verified_world != kit.facts.world or (kit.unverified and kit.facts.world is None)
        case Verify.ON_CLAIM:
            return claim


async def _check(kit: Kit, command: str, record: Record, *, baseline: bool) -> None:
    record(CheckStarted(command=command))
    with kit.watch.running():
        result = await kit.interruptible(
            run_check(command, kit.workspace, env=kit.env, timeout=_seconds(kit), sandbox=kit.sandbox)
        )
    record(
        CheckFinished(
            command=command,
            passed=result.passed,
            exit_code=result.exit_code,
            timed_out=result.timed_out,
            failing=result.failing,
            output=result.output,
            seconds=result.seconds,
            error=result.error,
            baseline=baseline,
        )
    )


def _seconds(kit: Kit) -> float:
    """A check's own time-out, or what is left of the run's time where that is less."""
    own, left = kit.facts.spec.predicates.timeout, kit.seconds_for_work()
    return own if left is None else max(1.0, min(own, left))


def _judged(verdict: Verdict, record: Record) -> None:
    record(PredicateJudged(name=verdict.name, passed=verdict.passed, detail=verdict.detail))


def _answer(kit: Kit) -> str | None:
    """The final answer: the accepted finish's, else the newest text."""
    if kit.facts.finish is not None:
        return str(arguments_of(kit.facts.finish).get("answer", ""))
    return last_text(kit.facts.main.messages)


def _state(kit: Kit) -> dict[str, object]:
    """What a predicate of the user's own gets: the outcome's fields so far, the last answer, the actions."""
    facts = kit.facts
    return {
        "run_id": facts.spec.run_id,
        "task": facts.spec.task,
        "workspace": facts.spec.workspace,
        "answer": _answer(kit),
        "steps": facts.spent.steps,
        "tokens": msgspec.to_builtins(facts.spent.tokens),
        "usd": None if facts.spent.unpriced else facts.spent.usd,
        "seconds": kit.spent().seconds,
        "files_changed": facts.files_changed,
        "actions": [
            {"step": a.step, "tool": a.tool, "arguments": a.arguments, "ok": a.ok, "result": a.result}
            for a in facts.actions
        ],
    }
