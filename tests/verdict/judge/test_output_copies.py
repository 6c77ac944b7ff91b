"""The view has folders of output as they were before the run first wrote there."""

import os

from rundry.agent.protocol import Budget

from .reading import is_done, judged

FEW = Budget(steps=6)
FIX = "echo 'echo 4' > calc.sh"
FILES = {
    ".gitignore": "target\n",
    "Cargo.toml": "[package]\n",
    "calc.sh": "echo 5\n",
    "more.sh": "true\n",
    "suite__a.sh": "grep -q on target/sub/conf && sh calc.sh > target/out && grep -q 4 target/out\n",
}
SUITE = "sh suite/a.sh"


def configured(project, text):
    work = project(**FILES)
    (work / "target/sub").mkdir(parents=True)
    (work / "target/sub/conf").write_text(text)
    os.utime(work / "target/sub/conf", (10**9, 10**9))
    return work


async def test_what_the_user_configured_before_is_there_when_the_result_is_judged(project, driven):
    work = configured(project, "on\n")
    run = driven(f"{FIX}; touch target/made", until=[SUITE], budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome)
    assert run.of("outputs_written") and (work / "target/made").exists() and (work / "target/out").exists()


async def test_what_the_run_wrote_there_is_not(project, driven):
    configured(project, "off\n")
    run = driven(f"{FIX}; echo on > target/sub/conf", until=[SUITE], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, judged(run)["why"]) == ("handoff", "conditions"), run.story()


async def test_after_an_accepted_deletion_there_is_no_output(project, driven):
    configured(project, "on\n")
    run = driven(f"{FIX}; rm more.sh; touch target/made", until=[SUITE], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, judged(run)["why"]) == ("handoff", "conditions"), run.story()
    assert "target" in judged(run)["detail"]


async def test_a_check_may_build_again_what_was_built_before(project, driven):
    work = project(
        **{**FILES, "suite__a.sh": "mkdir -p target; cp calc.sh target/built.sh; sh target/built.sh | grep -q 4\n"}
    )
    (work / "target").mkdir()
    (work / "target/built.sh").write_text("echo 5\n")
    run = driven(FIX, until=[SUITE], budget=FEW)
    assert is_done(run, await run.run())
