from __future__ import annotations

from pathlib import Path

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import LoopKind, ModelSpec, PredicateJudged, Predicates, RunSpec
from rundry.agent.run.end.evidence_of_run import evidence_of
from rundry.agent.state.facts.checkpoint import facts_of

UNHELD = "no sandbox: the code under test could write to the folder of the predicate"


def judged(tmp_path: Path, *, passed: bool) -> list[str]:
    """What the evidence of a run with this verdict says is not guaranteed."""
    spec = RunSpec(
        run_id="r1",
        loop=LoopKind.GOAL,
        task="t",
        workspace=str(tmp_path),
        model=ModelSpec(name="fake/m"),
        predicates=Predicates(until_py=["own.py:ready"]),
    )
    journal = Journal.create(tmp_path / "r1.db", spec)
    try:
        name = "until-py own.py:ready"
        journal.append(PredicateJudged(name=name, passed=passed, detail="", not_guaranteed=[UNHELD]))
        evidence = evidence_of(facts_of(journal))
    finally:
        journal.close()
    assert evidence is not None
    return evidence.not_guaranteed


def test_what_a_predicate_that_holds_could_not_guarantee_stands_in_the_evidence(tmp_path: Path):
    assert UNHELD in judged(tmp_path, passed=True)


def test_a_predicate_that_does_not_hold_adds_nothing_to_the_evidence(tmp_path: Path):
    assert UNHELD not in judged(tmp_path, passed=False)
