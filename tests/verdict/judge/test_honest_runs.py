"""Honest work ends as `done` without a question, whatever the check writes."""

import asyncio

import pytest
from fakes.in_process.layered_run import decide

from rundry.agent.protocol import Budget, LoopKind, Predicates, Stop

from .reading import asked, is_done, judged

FIX = "echo 'echo 4' > calc.sh"
BUILT = {
    "calc.c": '#include <stdio.h>\nint main(void) { printf("5\\n"); return 0; }\n',
    "Makefile": "test: calc\n\t./calc | grep -q 4\ncalc: calc.c\n\tcc -o calc calc.c\n",
}
FEW = Budget(steps=6)
SUITE = "sh suite/a.sh"


@pytest.mark.parametrize(
    ("files", "check", "command"),
    [
        ({"suite__a.sh": "sh calc.sh | grep -q 4\n"}, SUITE, FIX),
        (BUILT, "make test", "sed -i s/5/4/ calc.c"),
        (
            {"suite__data.json": "{}", "suite__a.sh": "sh calc.sh > suite/data.json\ngrep -q 4 suite/data.json\n"},
            SUITE,
            FIX,
        ),
        ({"suite__a.sh": "sh calc.sh > suite/new.txt\ngrep -q 4 suite/new.txt\n"}, SUITE, FIX),
        ({"fmt.txt": "a", "suite__a.sh": "echo b > fmt.txt\nsh calc.sh | grep -q 4\n"}, SUITE, FIX),
        ({".gitignore": "c.db\n", "c.db": "x", "suite__a.sh": "date > c.db\nsh calc.sh | grep -q 4\n"}, SUITE, FIX),
    ],
    ids=["plain", "V8 binary", "V9 data", "V9 new data", "V9 formatter", "ignored data"],
)
async def test_honest_work_is_done_and_nobody_is_asked(project, driven, files, check, command):
    project(**{"calc.sh": "echo 5\n", **files})
    run = driven(command, until=[check], budget=FEW)
    outcome = await run.run(watched=True)
    assert is_done(run, outcome) and not asked(run)


async def test_tests_that_the_run_added_do_not_hinder_it(project, driven):
    work = project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    check = 'for t in suite/*.sh; do sh "$t" || exit 1; done'
    run = driven(f"{FIX}; echo 'sh calc.sh | grep -q 4' > suite/b.sh", until=[check], budget=FEW)
    outcome = await run.run(watched=True)
    assert is_done(run, outcome) and not asked(run)
    assert judged(run)["undecided"] == ["suite/b.sh"] and outcome.evidence.undecided_count == 1
    assert (work / "suite/b.sh").exists()


async def test_a_commit_of_accepted_files_does_not_hinder_it(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "git diff --quiet HEAD -- calc.sh && sh calc.sh | grep -q 4\n"})
    commit = "git -c user.name=u -c user.email=u@example.org commit -qam fix"
    run = driven(f"{FIX} && {commit}", until=["sh suite/a.sh"], budget=FEW)
    assert is_done(run, await run.run(watched=True)) and not asked(run)


@pytest.fixture
def gutted(project, driven):
    """A run that changes a test, and then, if it is not done yet, the code."""
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    return driven("echo true > suite/a.sh", FIX, until=["sh suite/a.sh"], budget=FEW)


async def test_a_person_accepts_the_changes_that_the_result_rests_on(gutted):
    gutted.on("proposal_opened", decide("approve"), nth=2)
    outcome = await gutted.run(watched=True)
    assert is_done(gutted, outcome)
    (proposal,) = asked(gutted)
    (entry,) = proposal["effects"]["entries"]
    assert entry["path"] == "suite/a.sh" and entry["is_text"] and entry["before"] and entry["after"]
    assert (outcome.evidence.undecided_count, outcome.evidence.guarded_changed) == (0, ["suite/a.sh"])


async def test_after_a_rejection_the_model_hears_it_and_continues(gutted, place):
    gutted.on("proposal_opened", decide("reject", reason="tests stay"), nth=2)
    outcome = await gutted.run(watched=True, stays=True)
    assert is_done(gutted, outcome) and len(asked(gutted)) == 1
    assert "tests stay" in gutted.heard(1) and "suite/a.sh" in gutted.heard(1)
    assert "true" in (place / "work/suite/a.sh").read_text()


async def test_a_killed_judge_judges_again(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=["sh suite/a.sh"], budget=FEW)
    assert is_done(run, await run.run())
    for kind in ("judge_started", "judged"):
        again = run.killed_at(kind)
        assert is_done(again, await again.run())
        assert sum(event["type"] == "judged" for event in again.events) == 1, again.story()


async def test_a_judge_that_does_not_fit_into_the_time_ends_as_budget(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sleep 2; sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=["sh suite/a.sh"], budget=Budget(steps=6, seconds=4.5))
    outcome = await run.run()
    assert outcome.reason == "budget" and outcome.limit == "seconds", run.story()


async def test_files_that_change_while_the_judge_runs_are_judged_again(project, driven):
    work = project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sleep 0.5; sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=["sh suite/a.sh"], budget=FEW)

    async def edit():
        while not any(event["type"] == "judge_started" for event in run.events):
            await asyncio.sleep(0.02)
        (work / "calc.sh").write_text("echo 4 # mine\n")

    editing = asyncio.ensure_future(edit())
    outcome = await run.run()
    await editing
    assert is_done(run, outcome)
    assert (work / "calc.sh").read_text() == "echo 4 # mine\n"


async def test_files_that_never_rest_are_a_hand_off(project, driven):
    work = project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sleep 0.3; sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=["sh suite/a.sh"], budget=FEW)

    async def edit():
        while not any(event["type"] == "judge_started" for event in run.events):
            await asyncio.sleep(0.02)
        count = 0
        while run.of("judged") == []:
            count += 1
            (work / "calc.sh").write_text(f"echo 4 # {count}\n")
            await asyncio.sleep(0.02)

    editing = asyncio.ensure_future(edit())
    outcome = await run.run()
    editing.cancel()
    assert outcome.reason == "handoff" and judged(run)["why"] == "moved", run.story()


async def test_a_chat_with_a_check_is_judged_when_the_model_has_answered(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("echo true > suite/a.sh", loop=LoopKind.CHAT, until=["sh suite/a.sh"]).on("judged", Stop())
    await run.run()
    found = judged(run)
    assert not found["passed"] and found["rests_on"] == ["suite/a.sh"]


async def test_with_guard_none_everything_may_change_and_the_grade_says_so(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    wanted = Predicates(until=["sh suite/a.sh"], guard=["none"])
    run = driven("echo true > suite/a.sh", predicates=wanted, budget=FEW)
    assert is_done(run, await run.run(), grade="passed")


async def test_a_file_that_the_user_guards_asks_at_each_change(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    wanted = Predicates(until=["sh suite/a.sh"], guard=["calc.sh"])
    run = driven(FIX, predicates=wanted, budget=FEW).on("proposal_opened", decide("approve"), nth=2)
    outcome = await run.run(watched=True)
    (proposal,) = asked(run)
    assert proposal["effects"]["entries"][0]["path"] == "calc.sh"
    assert is_done(run, outcome)


async def test_already_met_is_not_run_a_second_time(project, driven):
    project(**{"calc.sh": "echo 4\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(until=["sh suite/a.sh"], budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome) and "already met" in outcome.detail
    assert judged(run)["seconds"] < 1.0
