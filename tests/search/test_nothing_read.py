"""What counts as a look is what the program served: a lens or a verifier that read nothing did not look."""

from __future__ import annotations

import pytest
from fakes.models.model_by_role import NOTHING, READ, ModelByRole, judge, report
from fakes.turns import Turn, call

GOOD = {"title": "x is wrong", "evidence": "a.txt:2"}


def unread(lenses, **more) -> ModelByRole:
    """A model that only reads what its script says."""
    return ModelByRole(lenses, reads=False, **more)


def read_then(*answers: Turn):
    """A sceptic that answers in turn, the last one again and again."""
    left = list(answers)
    return lambda key, nth: left.pop(0) if len(left) > 1 else left[0]


NO_LOOK = {
    "nothing": NOTHING,
    "names only": call("list_files"),
    "an empty file": call("read_file", path="empty.txt"),
    "a file that is not there": call("read_file", path="nosuch.txt"),
    "no match": call("search", pattern="nowhere-in-here"),
    "in the same answer": Turn(calls=(*READ.calls, *NOTHING.calls)),
}


@pytest.mark.parametrize("look", NO_LOOK)
async def test_a_lens_that_read_nothing_did_not_run(search, place, look):
    (place / "empty.txt").write_text("")
    turns = [NO_LOOK[look], NOTHING] * 20 if look != "in the same answer" else [NO_LOOK[look]]
    run = search(unread({"one": turns}), "one", retries=0, budget=None)
    outcome = await run.run()
    if look == "in the same answer":
        assert any("report is not accepted" in e["result"] for e in run.of("tool_finished")), run.story()
        return
    assert not outcome.complete and outcome.reason == "error", run.story()
    assert "every lens failed: its report was refused, because it read nothing" in outcome.detail
    assert run.facts().finder.lenses["one"].passes == 0
    assert not [e for e in run.of("pass_finished") if e["dry_streak"]]


async def test_a_lens_that_read_nothing_makes_a_search_incomplete_and_is_named(search):
    run = search(ModelByRole({"one": [report("x"), NOTHING]}), "one", retries=0)
    blind = search(unread({"one": [READ, NOTHING] * 20, "blind": [NOTHING]}), "one", "blind", retries=0)
    assert (await run.run()).complete
    outcome = await blind.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), blind.story()
    assert "lens blind: its report was refused, because it read nothing with its tools" in outcome.detail
    assert blind.facts().finder.lenses["blind"].last == "its report was refused, because it read nothing with its tools"


async def test_each_pass_needs_a_look_of_its_own(search):
    model = unread({"one": [READ, NOTHING, NOTHING, READ, NOTHING]})
    run = search(model, "one")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    (refused,) = [e["result"] for e in run.of("tool_finished") if not e["ok"]]
    assert "you have read nothing since you were asked" in refused


@pytest.mark.parametrize(
    "blind",
    [
        [judge("stands")],
        [call("list_files"), judge("stands")],
        [call("read_file", path="b.txt"), judge("stands")],
        [call("read_file", path="a.txt", start_line=99), judge("stands")],
        [Turn(calls=(*call("read_file", path="a.txt").calls, *judge("stands").calls)), judge("stands")][:1],
    ],
)
async def test_a_verifier_that_did_not_read_the_evidence_did_not_vote(search, blind):
    model = unread({"one": [READ, report(GOOD), READ, NOTHING, READ, NOTHING]}, sceptic=read_then(*blind))
    run = search(model, "one", retries=0)
    outcome = await run.run()
    if len(blind) == 1 and len(blind[0].calls) == 2:
        assert any("judge is not accepted" in e["result"] for e in run.of("tool_finished")), run.story()
        return
    assert not run.of("vote_cast"), run.story()
    assert outcome.findings.confirmed == 0
    assert (outcome.reason, outcome.complete) == ("dry", False)
    assert "1 finding could not be judged (1 because verifiers did not read the evidence)" in outcome.detail


async def test_a_verifier_that_was_refused_and_then_reads_votes(search):
    sceptic = read_then(judge("stands"), call("search", pattern="a two"), judge("stands"))
    run = search(unread({"one": [READ, report(GOOD), READ, NOTHING, READ, NOTHING]}, sceptic=sceptic), "one")
    outcome = await run.run()
    assert (outcome.complete, outcome.findings.confirmed) == (True, 1), run.story()


async def test_a_verifier_may_refute_by_what_it_read_elsewhere(search):
    sceptic = read_then(call("read_file", path="b.txt"), judge("refuted", "b.txt forbids it"))
    run = search(unread({"one": [READ, report(GOOD), READ, NOTHING, READ, NOTHING]}, sceptic=sceptic), "one")
    outcome = await run.run()
    assert (outcome.complete, outcome.findings.refuted) == (True, 1), run.story()


WRONG = {
    "a.txt:99": "a.txt has 3 lines: there is no line 99",
    "a.txt:2-99": "there is no line 99",
    "a.txt:0": "there is no line 0",
    "nosuch.py:99": "nosuch.py does not exist",
    "a.txt:1, nosuch.py:2": "nosuch.py does not exist",
    "../outside.txt:1": "does not exist in this workspace",
    "": "it has no evidence",
    "the whole project": "does not name a file",
    'a.txt:1 "b two"': "does not have the text",
    "a.txt:1: `nowhere`": "does not have the text",
    "`a line that no file has`": "does not name a file",
    "https://example.org/page": "was not read",
}


@pytest.mark.parametrize("evidence", WRONG)
async def test_a_place_that_does_not_hold_is_an_error_to_the_model_before_any_verifier_sees_it(search, evidence):
    wrong = {"title": "x is wrong", "evidence": evidence}
    model = ModelByRole({"one": [report(wrong), report(GOOD), NOTHING]})
    run = search(model, "one")
    outcome = await run.run()
    (refused,) = [e["result"] for e in run.of("tool_finished") if e["tool"] == "report" and not e["ok"]]
    assert refused.startswith("report is not accepted: finding 1: ") and WRONG[evidence] in refused
    assert [e["evidence"] for e in run.of("finding_reported")] == ["a.txt:2"], run.story()
    assert (outcome.complete, outcome.findings.confirmed) == (True, 1)


@pytest.mark.parametrize(
    "evidence",
    [
        "a.txt:2", "./a.txt:2", "a.txt", "a.txt:1-3", "a.txt:L2", "a.txt:2:1", "`a.txt:2`", 'a.txt:2 "a two"',
        "a.txt:1: `a  one`", "see a.txt:1, b.txt:3", '"c three"', "with space.txt:1",
    ],
)  # fmt: skip
async def test_a_place_in_each_usual_form_is_accepted(search, place, evidence):
    (place / "with space.txt").write_text("one\n")
    run = search(
        ModelByRole(
            {"one": [report({"title": "x", "evidence": evidence}), NOTHING]}, sceptic=lambda *_: judge("refuted")
        ),
        "one",
    )
    outcome = await run.run()
    assert [e["evidence"] for e in run.of("finding_reported")] == [evidence], run.story()
    assert outcome.complete


async def test_a_report_that_keeps_a_wrong_place_loses_only_that_finding_and_the_search_is_not_complete(search):
    both = report(GOOD, {"title": "made up", "evidence": "nosuch.py:99"})
    run = search(ModelByRole({"one": [both, both, both, NOTHING]}), "one")
    outcome = await run.run()
    assert [e["title"] for e in run.of("finding_reported")] == ["x is wrong"], run.story()
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", False, 1)
    assert "1 finding dropped: the cited place does not exist" in outcome.detail
    assert [e["dropped"] for e in run.of("work_finished") if e["kind"] == "lens"] == [1, 0, 0]
