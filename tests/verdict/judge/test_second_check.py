"""A second check (`--holdout`) is seen by nobody but itself, and decides how a judged run ends."""

import os
import subprocess

import pytest
from fakes.in_process.layered_run import IDENTITY
from fakes.turns import call, say

from rundry.agent.protocol import Budget, GateMode, LoopKind, McpServer, Predicates, Say, Stop
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.sandbox.landlock import why_no_landlock

from .reading import is_done, judged

FEW = Budget(steps=8)
CALC = {"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh 2 2 | grep -q 4\n"}
HIDDEN = "sh calc.sh 3 4 | grep -q 7 && echo MARKER-GREEN || { echo MARKER-RED; exit 1; }\n"
HARD_CODED, HONEST = "echo 'echo 4' > calc.sh", "echo 'echo $(($1 + $2))' > calc.sh"
WANTED = Predicates(until=["sh suite/a.sh"], holdout="sh apart/b.sh", holdout_files=["apart/**"])


@pytest.fixture
def held_out(project):
    """Makes the repository, with files that git does not have."""

    def make(files=None, **more):
        work = project(**CALC, **more)
        for name, text in (files or {"apart/b.sh": HIDDEN}).items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
        return work

    return make


def prompts(run):
    return "\n".join(run.heard(n) for n in range(len(run.model.requests)))


def stored_output(run):
    return run.path.with_name(f"{run.path.name}.holdout")


async def test_a_result_that_also_passes_the_second_check_is_held_out(held_out, driven):
    held_out()
    run = driven(HONEST, predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome, grade="held_out")
    assert judged(run)["holdout"] == "second check passed" and "MARKER" not in prompts(run)
    assert "MARKER-GREEN" in stored_output(run).read_text()


@pytest.mark.parametrize(("command", "grade"), [(HONEST, "held_out"), (HARD_CODED, "passed")])
async def test_a_staged_result_must_pass_the_second_check_too(held_out, driven, command, grade):
    held_out()
    run = driven(f"{{ cat apart/b.sh; ls apart; }} 2>&1; {command}", predicates=WANTED, budget=FEW, gate=GateMode.STAGE)
    outcome = await run.run()
    assert judged(run)["grade"] == outcome.evidence.grade == grade, run.story()
    assert "MARKER" not in prompts(run) + run.story()


async def test_hard_coded_answers_are_a_hand_off_and_the_output_reaches_only_the_user(held_out, driven):
    held_out()
    run = driven(HARD_CODED, predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "holdout" and outcome.evidence.grade == "passed"
    assert str(stored_output(run)) in outcome.detail
    text = stored_output(run)
    assert "MARKER-RED" in text.read_text() and text.stat().st_mode & 0o777 == 0o600
    assert "MARKER" not in run.story() + prompts(run) + str(outcome)


async def test_a_model_that_continues_hears_that_the_second_check_failed_and_nothing_of_it(held_out, driven):
    held_out()
    run = driven(HARD_CODED, HONEST, predicates=WANTED, budget=FEW)
    assert (await run.run()).reason == "handoff"
    outcome = await run.run(changes=ResumeChanges(hint="continue"))
    assert is_done(run, outcome, grade="held_out")
    assert "The checks pass, but the second check failed." in run.heard(1)
    assert "MARKER" not in prompts(run) and "apart" not in prompts(run)


@pytest.mark.parametrize(
    "command",
    [
        "cat apart/b.sh",
        "cp -r apart elsewhere; cat elsewhere/*",
        "mv apart elsewhere; cat elsewhere/*",
        "grep -r MARK .",
    ],
)
async def test_commands_and_checks_do_not_see_its_files(held_out, driven, command):
    held_out()
    wanted = Predicates(
        until=[f"{{ {command}; }} 2>&1; sh suite/a.sh"], holdout="sh apart/b.sh", holdout_files=["apart/**"]
    )
    run = driven(f"{{ {command}; }} 2>&1; {HONEST}", predicates=wanted, budget=FEW)
    assert is_done(run, await run.run(), grade="held_out")
    assert "MARKER" not in prompts(run) + run.story()


async def test_tools_do_not_see_its_files(held_out, driven):
    work = held_out()
    run = driven(
        call("read_file", path="apart/b.sh"),
        call("search", pattern="MARKER"),
        call("list_files", path="apart"),
        call("edit_file", path="apart/b.sh", old="exit 1", new="exit 0"),
        call("write_file", path="apart/new.sh", content="true"),
        HONEST,
        predicates=WANTED,
        budget=FEW,
    )
    assert is_done(run, await run.run(), grade="held_out")
    assert "belongs to the second check" in prompts(run)
    assert "MARKER" not in prompts(run).replace("pattern", "") or prompts(run).count("MARKER-") == 0
    assert (work / "apart/b.sh").read_text() == HIDDEN and not (work / "apart/new.sh").exists()


async def test_single_files_are_hidden_in_their_folder(held_out, driven):
    held_out({"suite/z_apart.sh": HIDDEN})
    wanted = Predicates(until=WANTED.until, holdout="sh suite/z_apart.sh", holdout_files=["z_apart.sh"])
    run = driven(f"cat suite/*; rm -f suite/z_apart.sh; {HONEST}", predicates=wanted, budget=FEW)
    assert is_done(run, await run.run(), grade="held_out")
    assert "MARKER" not in prompts(run)


async def test_code_that_ends_the_second_check_before_its_tests_does_not_pass_it(held_out, driven):
    test = (
        "import unittest, calc\nclass T(unittest.TestCase):\n def test_b(self): self.assertEqual(calc.add(3, 4), 7)\n"
    )
    visible = test.replace("3, 4), 7", "2, 2), 4").replace("test_b", "test_a")
    held_out({"apart/test_b.py": test}, **{"calc.py": "def add(a, b): return 0\n", "test_a.py": visible})
    wanted = Predicates(
        until=["python3 -m unittest test_a"],
        holdout="PYTHONPATH=apart python3 -m unittest test_b",
        holdout_files=["apart/**"],
    )
    code = "import os, sys\\nif sys.argv[-1] == 'test_b': os._exit(0)\\ndef add(a, b): return 4\\n"
    run = driven(f'printf "{code}" > calc.py', predicates=wanted, budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and judged(run)["why"] == "holdout", run.story()


async def test_files_that_git_has_are_named_before_the_run_and_count_as_seen(held_out, driven):
    work = held_out()
    for words in (["add", "."], ["commit", "-q", "-m", "all"], ["rm", "-q", "--cached", "-r", "apart"]):
        subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
    subprocess.run(["git", "-C", work, *IDENTITY, "commit", "-q", "-m", "gone"], check=True, capture_output=True)
    run = driven(HONEST, predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome)
    (prepared,) = [event for event in run.events if event["type"] == "holdout_prepared"]
    assert prepared["known"] == ["apart/b.sh"]
    assert "could read apart/b.sh in git" in outcome.evidence.holdout


async def test_a_content_that_git_has_under_another_name_counts_as_seen(held_out, driven):
    held_out(**{"other.sh": HIDDEN})
    run = driven(HONEST, predicates=WANTED, budget=FEW)
    assert is_done(run, await run.run()) and "other" not in judged(run)["holdout"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda work: (work / "apart/b.sh").unlink(), "no file in"),
        (lambda work: os.link(work / "apart/b.sh", work / "b.sh"), "has another name"),
        (lambda work: (work / "apart/c.sh").symlink_to("/etc/hostname"), "is not a file"),
    ],
    ids=["none", "hard link", "link"],
)
async def test_a_run_whose_files_cannot_be_hidden_is_refused(held_out, driven, change, words):
    change(held_out())
    run = driven(HONEST, predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "refused" and words in outcome.detail, outcome.detail
    assert not run.model.requests


async def test_a_run_with_a_server_outside_of_the_sandbox_is_refused(held_out, driven):
    held_out()
    server = McpServer(name="files", url="http://127.0.0.1:1/mcp")
    run = driven(HONEST, predicates=WANTED, budget=FEW, mcp=[server])
    outcome = await run.run()
    assert outcome.reason == "refused" and "files" in outcome.detail, outcome.detail


async def test_a_second_check_that_cannot_be_started_is_refused_before_the_first_call(held_out, driven):
    held_out({"apart/b.sh": HIDDEN})
    wanted = Predicates(until=WANTED.until, holdout="apart/b.sh", holdout_files=["apart/**"])
    run = driven(HONEST, predicates=wanted, budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "refused" and "second check cannot be started" in outcome.detail, run.story()
    assert not run.model.requests


async def test_a_goal_that_is_met_already_must_pass_the_second_check_too(held_out, driven):
    work = held_out()
    (work / "calc.sh").write_text("echo 4\n")
    run = driven(predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and judged(run)["why"] == "holdout", run.story()
    (work / "calc.sh").write_text("echo $(($1 + $2))\n")
    run = driven(predicates=WANTED, budget=FEW)
    assert is_done(run, await run.run(), grade="held_out")


async def test_new_files_where_the_second_check_lies_do_not_count(held_out, driven):
    held_out({"suite/z_apart.sh": f"[ ! -e suite/y_apart.sh ] || exit 0\n{HIDDEN}"})
    wanted = Predicates(until=WANTED.until, holdout="sh suite/z_apart.sh", holdout_files=["*_apart.sh"])
    run = driven(f"echo true > suite/y_apart.sh; {HARD_CODED}", predicates=wanted, budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and judged(run)["why"] == "holdout", run.story()


async def test_a_result_is_judged_again_after_a_person_fixed_the_code_and_resumed(held_out, driven):
    work = held_out()
    run = driven(HARD_CODED, predicates=WANTED, budget=FEW)
    assert (await run.run()).reason == "handoff"
    (work / "calc.sh").write_text("echo $(($1 + $2))\n")
    assert is_done(run, await run.run(), grade="held_out")
    assert len(run.model.requests) == 1


async def test_a_chat_has_a_second_check_too(held_out, driven):
    held_out()
    run = driven(HARD_CODED, say("so"), HONEST, predicates=WANTED, budget=FEW, loop=LoopKind.CHAT)
    run.on("judged", Say(text="more")).on("judged", Stop(), nth=2)
    await run.run(watched=True)
    assert [event["grade"] for event in run.events if event["type"] == "judged"] == ["passed", "held_out"], run.story()
    assert "the second check failed" in run.heard(2) and "MARKER" not in prompts(run)


async def test_a_killed_second_check_runs_again(held_out, driven):
    held_out()
    run = driven(HONEST, predicates=WANTED, budget=FEW)
    assert is_done(run, await run.run(), grade="held_out")
    again = run.killed_at("judge_started")
    assert is_done(again, await again.run(), grade="held_out")


@pytest.mark.skipif(bool(why_no_landlock()), reason="Landlock is not here")
async def test_under_landlock_nobody_sees_its_files_either(held_out, driven, tmp_path, monkeypatch):
    held_out()
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    run = driven(f"{{ cat apart/b.sh; mv apart else; cat else/*; }} 2>&1; {HONEST}", predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert run.events[0]["sandbox"] == "landlock", run.story()
    assert is_done(run, outcome, grade="held_out")
    assert "MARKER" not in prompts(run) + run.story()
