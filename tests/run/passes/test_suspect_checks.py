from __future__ import annotations

from fakes.turns import Call, calls

from rundry.agent.protocol import Answer, Predicates

CHECK = "cat said.txt; exit $(cat code.txt)"
"""Prints what the files say: a stand-in for a runner, whose words are those of pytest."""

WANTED = Predicates(until=[CHECK], scope=["said.txt", "code.txt"])


def result(said: str, code: int):
    return calls(
        Call("write_file", {"path": "said.txt", "content": f"{said}\n"}),
        Call("write_file", {"path": "code.txt", "content": f"{code}\n"}),
    )


def answered(run, text: str, nth: int = 1):
    return run.on("question_asked", lambda event: Answer(question_id=event["question_id"], text=text), nth=nth)


async def test_a_person_accepts_a_suspect_check_and_the_outcome_says_so(driven, work):
    (work / "said.txt").write_text("2 failed, 3 passed in 0.10s\n")
    (work / "code.txt").write_text("1\n")
    run = driven(result("3 passed in 0.10s", 0), predicates=WANTED)
    outcome = await answered(run, "Accept the result").run(watched=True)
    assert (outcome.reason, outcome.exit_code) == ("done", 0), run.story()
    evidence = outcome.evidence
    assert evidence is not None and evidence.accepted
    assert [check.accepted for check in evidence.checks] == [True]
    (asked,) = run.of("question_asked")
    assert "3 tests ran, and 5 before" in asked["question"]


async def test_a_person_lets_the_model_continue_and_it_reads_what_is_missing(driven, work):
    (work / "said.txt").write_text("2 failed, 3 passed in 0.10s\n")
    (work / "code.txt").write_text("1\n")
    run = driven(result("3 passed in 0.10s", 0), result("5 passed in 0.10s", 0), predicates=WANTED)
    outcome = await answered(run, "put the two back").run(watched=True)
    assert (outcome.reason, outcome.steps) == ("done", 2), run.story()
    assert outcome.evidence is not None and not outcome.evidence.accepted
    told = [event["text"] for event in run.of("prompted") if event["kind"] == "check"]
    assert "3 tests ran, and 5 before" in told[-1]
    assert "put the two back" in told[-1]


async def test_added_tests_are_not_a_reason_to_ask(driven, work):
    (work / "said.txt").write_text("2 failed, 3 passed in 0.10s\n")
    (work / "code.txt").write_text("1\n")
    run = driven(result("9 passed in 0.10s", 0), predicates=WANTED)
    outcome = await run.run(watched=True)
    assert outcome.reason == "done", run.story()
    assert run.of("question_asked") == []


async def test_exit_code_zero_with_failing_tests_in_the_output_is_suspect(driven, work):
    (work / "said.txt").write_text("2 failed, 3 passed in 0.10s\n")
    (work / "code.txt").write_text("1\n")
    run = driven(result("1 failed, 4 passed in 0.10s", 0), predicates=WANTED)
    outcome = await run.run()
    assert outcome.reason == "handoff", run.story()
    assert outcome.detail.endswith("its exit code is 0, but it counts 1 failing")
