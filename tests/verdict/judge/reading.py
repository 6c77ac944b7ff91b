"""What the tests of judged runs read of their events."""

from __future__ import annotations

from rundry.agent.verdict.scope.run_scope import scope_option


def judged(run):
    """Return the newest judgement."""
    found = [event for event in run.events if event["type"] == "judged"]
    assert found, run.story()
    return found[-1]


def asked(run):
    """What a person was asked."""
    return [e for e in run.events if e["type"] == "question_asked" or (e["type"] == "proposal_opened" and e["asks"])]


def is_handed_over(run, outcome, *paths, helps=""):
    """The run is a hand-off for nobody, which names these files, and apart the option that accepts the first.

    `helps`: this option, if it is not `--scope`.
    """
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    found = judged(run)
    assert not found["passed"] and found["why"] == "undecided", run.story()
    assert set(paths) <= set(found["rests_on"]), found
    assert all(path in outcome.detail for path in paths), outcome.detail
    assert (helps or scope_option(paths[0])) in options(outcome)["look_first"], outcome.evidence
    assert "--" not in outcome.detail, outcome.detail
    return True


def options(outcome):
    """The options that the end proposes, and those that accept what decides the check."""
    return {"help": outcome.evidence.help, "look_first": [one.option for one in outcome.evidence.look_first]}


def is_done(run, outcome, grade="judged"):
    """The run ended as `done` with this grade."""
    assert (outcome.reason, outcome.exit_code) == ("done", 0), run.story()
    assert judged(run)["passed"] and outcome.evidence.grade == grade, judged(run)
    return True
