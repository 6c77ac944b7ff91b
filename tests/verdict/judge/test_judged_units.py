"""What works in a unit is judged before anything of it is in the workspace: passes, tries and scores."""

import pytest
from fakes.clock import ManualClock
from fakes.in_process.simulated_hours import through_hours
from fakes.models.tries import TryingModel
from fakes.turns import call, finish

from rundry.agent.protocol import Branch, Budget, GoalTries, ImproveSpec, IntervalSpec, LoopKind

from .reading import asked, is_done, judged

FIX = "echo 'echo 4' > calc.sh"
GUT = "echo true > suite/a.sh"
PROJECT = {"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"}
SUITE = "sh suite/a.sh"
LOOP = 'for t in suite/*.sh; do sh "$t" || exit 1; done'
DONE = finish("did it", "calc.sh")


def sh(command):
    return call("run_command", command=command)


@pytest.fixture
def hourly(project, driven):
    """An interval run with a check that is red at first, in a repository."""

    def make(*turns, **options):
        work, spec = project(**PROJECT), IntervalSpec(every=3600.0, branch=Branch(protected=[]))
        return work, driven(*turns, loop=LoopKind.INTERVAL, interval=spec, scope=[], **options)

    return make


async def test_a_pass_that_passes_only_with_a_changed_test_is_a_hand_off_with_its_patch(hourly):
    work, run = hourly(GUT, until=[SUITE], budget=Budget(steps=1))
    outcome = await through_hours(run, ManualClock(), within=90.0)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "undecided" and judged(run)["rests_on"] == ["suite/a.sh"]
    assert "suite/a.sh" in outcome.detail and "--scope suite/a.sh" in outcome.detail
    assert (work / "suite/a.sh").read_text() == PROJECT["suite__a.sh"]
    (finished,) = run.of("pass_finished")
    assert (finished["verdict"], finished["files"]) == ("undecided", ["suite/a.sh"]) and not asked(run)
    assert run.of("patch_kept")[0]["patch"]


async def test_a_pass_of_honest_work_is_kept_without_a_question(hourly):
    more = "echo 'sh calc.sh | grep -q 4' > suite/b.sh"
    work, run = hourly(f"{FIX}; {more}", until=[LOOP], budget=Budget(steps=1))
    outcome = await through_hours(run, ManualClock(), within=90.0, watched=True)
    (finished,) = run.of("pass_finished")
    assert finished["verdict"] == "kept" and finished["commit"], run.story()
    assert judged(run)["passed"] and judged(run)["grade"] == "judged"
    assert judged(run)["undecided"] == ["suite/b.sh"] and not asked(run)
    assert (work / "calc.sh").read_text() == "echo 4\n" and (work / "suite/b.sh").exists()
    assert outcome.evidence.grade == "judged" and outcome.evidence.undecided == ["suite/b.sh"]


async def test_a_check_that_writes_its_own_data_does_not_hinder_a_pass(project, driven):
    suite = "sh calc.sh > suite/data.json\ngrep -q 4 suite/data.json\n"
    project(**{"calc.sh": "echo 5\n", "suite__data.json": "{}", "suite__a.sh": suite})
    spec = IntervalSpec(every=3600.0, branch=Branch(protected=[]))
    run = driven(FIX, loop=LoopKind.INTERVAL, interval=spec, scope=[], until=[SUITE], budget=Budget(steps=1))
    await through_hours(run, ManualClock(), within=90.0)
    assert run.of("pass_finished")[0]["verdict"] == "kept" and judged(run)["grade"] == "judged", run.story()


async def test_the_view_has_each_kind_of_accepted_change_of_a_unit(project, driven):
    suite = "sh lib/deep/x.sh | grep -q 4 && ! test -e old.sh && test $(wc -c < big.sh) -gt 1500000\n"
    work, spec = (
        project(**{"old.sh": "true\n", "suite__a.sh": suite}),
        IntervalSpec(every=3600.0, branch=Branch(protected=[])),
    )
    command = (
        "mkdir -p lib/deep empty; echo 'echo 4' > lib/deep/x.sh; rm old.sh; ln -s lib/deep/x.sh link.sh; "
        "head -c 1600000 /dev/zero | tr '\\0' '#' > big.sh"
    )
    run = driven(command, loop=LoopKind.INTERVAL, interval=spec, scope=[], until=[SUITE], budget=Budget(steps=1))
    await through_hours(run, ManualClock(), within=90.0)
    assert run.of("pass_finished")[0]["verdict"] == "kept", run.story()
    assert judged(run)["undecided"] == ["link.sh"]
    assert (work / "link.sh").is_symlink() and not (work / "old.sh").exists()


async def test_what_an_earlier_pass_left_undecided_is_not_in_the_view_of_a_later_one(hourly):
    first, second = "echo 'sh calc.sh | grep -q 4' > suite/b.sh", "echo '# more' >> calc.sh"
    _, run = hourly(f"{FIX}; {first}", sh(second), DONE, until=[LOOP], budget=Budget(steps=3))
    await through_hours(run, ManualClock(), within=90.0)
    assert [one["verdict"] for one in run.of("pass_finished")] == ["kept", "kept"], run.story()
    first, second = (one["undecided"] for one in run.of("judged"))
    assert first == ["suite/b.sh"] and {*second} == {"suite/b.sh", "refs/heads/main"}  # its commit has that file


@pytest.fixture
def trying(project, driven):
    """A goal run with tries, by the script of each."""

    def make(scripts, **options):
        work = project(**PROJECT)
        tries = GoalTries(tries=len(scripts))
        run = driven(task="Pass 1. Mend it.", until=[SUITE], tries=tries, budget=Budget(steps=8), scope=[], **options)
        run.model = TryingModel({(1, number): [*turns, DONE] for number, turns in enumerate(scripts, 1)})
        return work, run

    return make


async def test_the_smallest_try_that_is_judged_is_applied(trying):
    work, run = trying([[sh(GUT)], [sh(f"{FIX}; echo '# more' >> calc.sh")]])
    outcome = await run.run(within=90.0)
    assert is_done(run, outcome), run.story()
    assert run.of("try_chosen")[0]["candidate"] == 2
    assert (work / "suite/a.sh").read_text() == PROJECT["suite__a.sh"] and "4" in (work / "calc.sh").read_text()
    assert not asked(run)


async def test_tries_of_which_none_is_judged_are_a_hand_off(trying):
    work, run = trying([[sh(GUT)], [sh("rm suite/a.sh; echo true > suite/a.sh")]])
    outcome = await run.run(within=90.0)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert "suite/a.sh" in outcome.detail and "--scope suite/a.sh" in outcome.detail
    assert (work / "suite/a.sh").read_text() == PROJECT["suite__a.sh"]


@pytest.fixture
def scored(project, driven):
    """An improve run whose score is what a script prints."""

    def make(*turns, score="sh suite/bench.sh", **options):
        work = project(**{"calc.sh": "echo 5\n", "suite__bench.sh": "sh calc.sh\n"})
        spec = ImproveSpec(score=score, bounded=True, patience=1, branch=Branch(protected=[]))
        return work, driven(*turns, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=8), scope=[], **options)

    return make


async def test_a_score_that_only_a_changed_script_prints_is_not_better(scored):
    work, run = scored("echo 'echo 100' > suite/bench.sh", DONE)
    outcome = await through_hours(run, ManualClock(), within=90.0)
    assert outcome.reason == "plateau", run.story()
    assert [e["score"] for e in run.of("score_measured")] == [5, 5]
    assert (work / "suite/bench.sh").read_text() == "sh calc.sh\n"


async def test_a_score_of_honest_work_is_better_and_the_end_says_that_it_was_judged(scored):
    work, run = scored("echo 'echo 7' > calc.sh; echo 'echo 100' > suite/bench.sh", DONE)
    outcome = await through_hours(run, ManualClock(), within=90.0)
    assert [e["score"] for e in run.of("score_measured")][:2] == [5, 7], run.story()
    assert outcome.reason == "plateau" and outcome.evidence.grade == "judged"
    assert outcome.evidence.undecided == ["suite/bench.sh"] and (work / "calc.sh").read_text() == "echo 7\n"
