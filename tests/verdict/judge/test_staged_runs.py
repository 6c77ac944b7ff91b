"""A run in a stage is judged before its end, and `rundry apply` judges again what is not as it was judged."""

import os
import subprocess

import pytest
from fakes.in_process.layered_run import IDENTITY, decide

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import BY_DIGEST, Budget, Decide, EntryChoice, GateMode, JudgeStarted, Predicates, UserError
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.staging.keep_undecided import open_kept
from rundry.agent.run.staging.stage_review import open_stage
from rundry.agent.state.facts.checkpoint import last_end
from rundry.agent.state.reports.void_runs import as_of_now

from .reading import asked, is_done, is_handed_over, judged

FIX, SUITE = "echo 'echo 4' > calc.sh", "sh suite/a.sh"
FEW = Budget(steps=6)
FILES = {"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"}


@pytest.fixture
def staged(project, driven):
    """Makes a staged run in a project, and the project."""

    def make(*turns, files=FILES, until=SUITE, **options):
        work = project(**files)
        return driven(*turns, until=[until], budget=FEW, gate=GateMode.STAGE, **options), work

    return make


async def applied(run, *, channel="", **entries):
    """What became of it after a person, or a digest, approved the stage with these choices by path."""
    async with open_stage(run.path, dict(os.environ)) as review:
        shown = review.shown
        choices = {at: entries[entry.path] for at, entry in enumerate(shown.effects.entries) if entry.path in entries}
        verdict = "part" if choices else "approve"
        decision = Decide(proposal_id="", digest=shown.digest, verdict=verdict, entries=choices, channel=channel)
        return await review.apply(decision)


def judge_count(run):
    """How often the checks ran for the judge."""
    journal = Journal.open_for_reading(run.path)
    try:
        return len(list(journal.read_types([JudgeStarted])))
    finally:
        journal.close()


async def test_an_honest_stage_is_judged_and_applied_without_a_question(staged):
    run, work = staged(FIX)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code, outcome.staged) == ("handoff", 5, ["calc.sh"]), run.story()
    assert judged(run)["passed"] and outcome.evidence.grade == "judged", judged(run)
    assert not asked(run) and (work / "calc.sh").read_text() == "echo 5\n"
    done = await applied(run)
    assert done.is_good and done.is_over and done.evidence.grade == "judged", done
    assert judge_count(run) == 1, "the verdict still holds"


async def test_a_dishonest_stage_is_a_hand_off_that_names_the_file(staged):
    run, work = staged("echo true > suite/a.sh")
    outcome = await run.run()
    assert is_handed_over(run, outcome, "suite/a.sh") and outcome.staged == ["suite/a.sh"]
    assert "rundry apply" in outcome.detail and (work / "suite/a.sh").read_text() == FILES["suite__a.sh"]
    done = await applied(run, channel=BY_DIGEST)
    assert (work / "suite/a.sh").read_text() == "true\n" and done.is_over
    assert done.met and "suite/a.sh" in done.why and not done.is_good, done
    assert done.evidence.rests_on == ["suite/a.sh"], "a digest accepts nothing"


async def test_what_a_person_approves_in_the_review_counts(staged):
    run, _ = staged("echo true > suite/a.sh")
    await run.run()
    done = await applied(run)
    assert done.is_good and done.evidence.grade == "judged" and not done.evidence.undecided_count, done
    assert done.evidence.guarded_changed == ["suite/a.sh"]


async def test_an_undecided_change_that_the_result_does_not_need_is_named(staged):
    run, work = staged(f"{FIX}; echo x > data.json")
    outcome = await run.run()
    assert outcome.evidence.grade == "judged" and outcome.evidence.undecided == ["data.json"], judged(run)
    done = await applied(run, channel=BY_DIGEST)
    assert done.is_good and done.evidence.undecided == ["data.json"] and (work / "data.json").exists(), done


async def test_the_verdict_is_void_if_something_that_was_judged_is_skipped(staged):
    files = {"a.sh": "echo 1\n", "b.sh": "echo 1\n", "suite__a.sh": "test $(sh a.sh) -eq 2 || test $(sh b.sh) -eq 2\n"}
    run, work = staged("echo 'echo 2' > a.sh; echo 'echo 2' > b.sh", files=files)
    await run.run()
    done = await applied(run, **{"b.sh": EntryChoice(skip=True)})
    assert done.is_good and not done.is_over and (work / "b.sh").read_text() == "echo 1\n", done
    assert judge_count(run) == 2, "judged again, in place"


async def test_a_skipped_file_that_the_result_needs_is_a_red_check(staged):
    files = {"a.sh": "echo 1\n", "b.sh": "echo 1\n", "suite__a.sh": "test $(sh a.sh)$(sh b.sh) -eq 22\n"}
    run, _ = staged("echo 'echo 2' > a.sh; echo 'echo 2' > b.sh", files=files)
    await run.run()
    done = await applied(run, **{"b.sh": EntryChoice(skip=True)})
    assert done.met is None and not done.is_good, done


async def test_a_text_of_the_persons_own_is_judged_again(staged):
    run, work = staged(FIX)
    await run.run()
    done = await applied(run, **{"calc.sh": EntryChoice(text="echo 4 # mine\n")})
    assert judge_count(run) == 2
    assert done.is_good and (work / "calc.sh").read_text() == "echo 4 # mine\n", done


async def test_after_an_apply_the_run_is_done_and_later_changes_make_it_void(staged):
    run, work = staged(FIX)
    await run.run()
    await applied(run)
    journal = Journal.open_for_reading(run.path)
    try:
        ended = last_end(journal)
        assert ended.reason == "done" and ended.complete and ended.files_changed == ["calc.sh"] and not ended.staged
        assert as_of_now(ended, journal).complete
        (work / "calc.sh").write_text("echo 3\n")
        assert not as_of_now(ended, journal).complete
    finally:
        journal.close()


async def test_what_a_digest_applied_undecided_is_in_the_ledger(staged, driven):
    run, _ = staged("echo true > suite/a.sh")
    await run.run()
    await applied(run, channel=BY_DIGEST)
    later = driven("true", until=[SUITE], budget=FEW)
    outcome = await later.run()
    assert outcome.reason == "handoff" and judged(later)["why"] == "undecided", later.story()


async def test_a_stage_of_which_some_was_applied_is_judged_with_what_is_left(staged):
    turns = ["echo true > suite/a.sh; echo 'echo 3' > calc.sh", "echo 'echo 6' > calc.sh"]
    files = {**FILES, "suite__b.sh": "sh calc.sh | grep -q 6\n"}
    run, work = staged(*turns, until="sh suite/a.sh && sh suite/b.sh", files=files)
    await run.run()
    done = await applied(run, channel=BY_DIGEST, **{"calc.sh": EntryChoice(skip=True)})
    assert not done.is_over and (work / "suite/a.sh").read_text() == "true\n" and done.met is None, done
    outcome = await run.run(changes=ResumeChanges(hint="go on"))
    assert outcome.reason == "handoff" and judged(run)["why"] == "undecided", run.story()
    assert judged(run)["rests_on"] == ["suite/a.sh"], judged(run)


async def test_a_person_is_asked_in_the_stage(staged):
    run, work = staged("echo true > suite/a.sh")
    run.on("proposal_opened", decide("approve"), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.evidence.grade == "judged" and outcome.evidence.guarded_changed == ["suite/a.sh"], run.story()
    assert outcome.staged == ["suite/a.sh"] and (work / "suite/a.sh").read_text() != "true\n"


async def test_a_check_that_needs_what_it_cannot_have_in_a_view_is_explained(staged):
    commit = "git -c user.name=u -c user.email=u@example.org commit -qam fix"
    run, _ = staged(f"{FIX} && {commit}", until="git diff --quiet HEAD && sh suite/a.sh", files=FILES)
    outcome = await run.run()
    assert outcome.reason == "handoff", run.story()


async def test_ignored_files_that_the_run_made_in_its_stage_are_not_in_the_view(staged):
    files = {".gitignore": "dist/\n", "calc.sh": "echo 5\n"}
    run, _ = staged("mkdir -p dist && echo app > dist/app", until="test -f dist/app", files=files)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["rests_on"] == ["dist/app"], judged(run)


@pytest.fixture
async def undecided(project, driven):
    """A run in the workspace that ended as a hand-off, because its result rests on an undecided change."""
    project(**FILES)
    run = driven("echo true > suite/a.sh; echo x > data.json", until=[SUITE], budget=FEW)
    assert is_handed_over(run, await run.run(), "suite/a.sh")
    return run


def keeping(**more):
    return Decide(proposal_id="", digest="", verdict="approve", **more)


async def test_a_person_keeps_undecided_changes_of_an_ended_run(undecided, driven):
    async with open_kept(undecided.path, dict(os.environ)) as review:
        assert [entry.path for entry in review.shown.effects.entries] == ["data.json", "suite/a.sh"]
        assert "sh calc.sh" in review.content(review.shown.effects.entries[1].before).decode()
        done = await review.apply(keeping())
    assert done.is_good and done.evidence.grade == "judged" and not done.evidence.undecided_count, done
    with pytest.raises(UserError, match="nobody decided on"):
        async with open_kept(undecided.path, dict(os.environ)):
            pass
    later = driven("true", until=[SUITE], budget=FEW)
    assert is_done(later, await later.run())


async def test_what_is_skipped_stays_undecided(undecided):
    async with open_kept(undecided.path, dict(os.environ)) as review:
        with pytest.raises(UserError, match="as a whole"):
            await review.apply(keeping(entries={0: EntryChoice(text="mine\n")}))
        done = await review.apply(keeping(entries={1: EntryChoice(skip=True)}))
    assert not done.is_good and done.evidence.rests_on == ["suite/a.sh"], done
    async with open_kept(undecided.path, dict(os.environ)) as review:
        assert [entry.path for entry in review.shown.effects.entries] == ["suite/a.sh"]


async def test_a_digest_accepts_without_a_look_so_the_grade_is_lower(undecided):
    async with open_kept(undecided.path, dict(os.environ)) as review:
        done = await review.apply(keeping(channel=BY_DIGEST))
    assert done.is_good and done.evidence.grade == "passed", done
    assert "without a look" in done.evidence.grade_detail


async def test_commits_that_cannot_be_applied_any_more_are_left_behind_by_name(staged):
    identity = "git -c user.name=u -c user.email=u@example.org"
    run, work = staged(f"{FIX} && {identity} commit -qam fix")
    await run.run()
    for words in (["commit", "-q", "--allow-empty", "-m", "moved"],):
        subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True)
    done = await applied(run)
    assert done.is_over and done.is_good, done
    left = subprocess.run(["git", "-C", work, "for-each-ref", "refs/rundry/conflict"], capture_output=True, text=True)
    ref = left.stdout.split()[2]
    assert f"The commits of the run are left behind, as `{ref}`." in done.lines, done.lines
    shown = subprocess.run(["git", "-C", work, "log", "-1", "--format=%s", ref], capture_output=True, text=True)
    assert shown.stdout == "fix\n"


async def test_a_result_that_is_not_confirmed_does_not_count_after_an_apply(staged):
    files = {**FILES, ".gitignore": "local\n", "local": "x"}
    confirmed = Predicates(until=[SUITE], confirm_with="test -e local")
    run, _ = staged(FIX, files=files, predicates=confirmed)
    await run.run()
    done = await applied(run)
    assert done.met and not done.is_good and "clean checkout" in done.why, done


async def test_output_of_a_stage_is_not_in_the_view_and_named(staged):
    files = {".gitignore": "target\n", "Cargo.toml": "[package]\n", "calc.sh": "echo 5\n"}
    run, _ = staged(
        "mkdir target && echo 'echo 4' > target/built.sh", until="sh target/built.sh | grep -q 4", files=files
    )
    outcome = await run.run()
    assert outcome.reason == "handoff" and judged(run)["why"] == "conditions", run.story()
    assert "built or changed in git (target)" in judged(run)["detail"], judged(run)
