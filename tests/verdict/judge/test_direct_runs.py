"""Where there are no layers, results are judged in a copy of the workspace (decision 0040, "Direct mode")."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY
from fakes.models.model import ScriptedModel
from fakes.turns import call, edit, say

from rundry.agent.layers.direct_comparison import LONGEST_TICK
from rundry.agent.protocol import Budget, Predicates
from rundry.agent.run.start.fork import fork
from rundry.agent.sandbox.landlock import why_no_landlock

from .reading import asked, judged

LOOP = 'for t in suite/*.sh; do sh "$t" || exit 1; done'
FIX = "echo 'echo 4' > calc.sh"
FEW = Budget(steps=6)
BUILT = {
    "calc.c": '#include <stdio.h>\nint main(void) { printf("5\\n"); return 0; }\n',
    "Makefile": "test: calc\n\t./calc | grep -q 4\ncalc: calc.c\n\tcc -o calc calc.c\n",
}


@pytest.fixture(params=["bubblewrap", "landlock", "no sandbox"])
def machine(request, tmp_path, monkeypatch):
    """Each kind of sandbox, in a workspace that has no place for layers."""
    if request.param == "landlock" and (why := why_no_landlock()):
        pytest.skip(why)
    if request.param != "bubblewrap":
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "bwrap").write_text("#!/bin/sh\nexit 1\n")
        (broken / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}")
    if request.param == "no sandbox":
        monkeypatch.setattr("rundry.agent.sandbox.sandbox.why_no_landlock", lambda: "it is missing")
    return request.param


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


@pytest.fixture
def project(machine, work):
    """Makes a repository of these files, in which no layer has a place."""

    def make(files):
        for name, text in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
        (work / ".git/rundry").mkdir()
        (work / ".git/rundry").chmod(0o777)

    return make


@pytest.fixture
def driven(work):
    """Makes a run whose journal is on another file system than its workspace."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:

        def make(*turns, **options):
            turns = [call("run_command", command=turn) if isinstance(turn, str) else turn for turn in turns]
            model = ScriptedModel([*turns, *[say("done")] * 3])
            return Driven(Path(runs), work, model, budget=FEW, **options)

        yield make


def is_done(run, outcome, machine):
    """The run ended as `done`, with the grade that this machine allows."""
    assert (outcome.reason, outcome.exit_code) == ("done", 0), run.story()
    assert judged(run)["passed"], judged(run)
    assert outcome.evidence.grade == ("passed" if machine == "no sandbox" else "judged"), judged(run)
    return True


@pytest.mark.parametrize(
    ("files", "check", "command", "path"),
    [
        ({"suite/a.sh": "sh calc.sh | grep -q 4\n"}, LOOP, "echo true > suite/a.sh", "suite/a.sh"),
        ({"suite/a.sh": "sh calc.sh | grep -q 4\n", "suite/b.sh": "true\n"}, LOOP, "rm suite/a.sh", "suite/a.sh"),
        ({"golden/1.out": "4\n"}, "sh calc.sh | cmp - golden/1.out", "sh calc.sh > golden/1.out", "golden/1.out"),
        ({"limits.json": "4"}, "sh calc.sh | grep -qf limits.json", "sh calc.sh > limits.json", "limits.json"),
    ],
    ids=["V1 glob", "V12 deleted", "V3 expected output", "V12 data"],
)
async def test_what_the_check_rests_on_is_not_the_runs_to_change(project, driven, files, check, command, path):
    project({"calc.sh": "echo 5\n", **files})
    run = driven(command, until=[check])
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "undecided" and judged(run)["rests_on"] == [path]


@pytest.mark.parametrize(
    ("files", "check", "command"),
    [
        ({"suite/a.sh": "sh calc.sh | grep -q 4\n"}, LOOP, FIX),
        (BUILT, "make test", "sed -i s/5/4/ calc.c"),
        (
            {"suite/data.json": "{}", "suite/a.sh": "sh calc.sh > suite/data.json\ngrep -q 4 suite/data.json\n"},
            LOOP,
            FIX,
        ),
        ({"suite/a.sh": "sh calc.sh > suite/new.txt\ngrep -q 4 suite/new.txt\n"}, LOOP, FIX),
        ({"fmt.txt": "a", "suite/a.sh": "echo b > fmt.txt\nsh calc.sh | grep -q 4\n"}, LOOP, FIX),
        ({".gitignore": "c.db\n", "suite/a.sh": "date > c.db\nsh calc.sh | grep -q 4\n"}, LOOP, FIX),
        (
            {".gitignore": "dist/\n", "dist/calc.sh": "echo 5\n", "package.json": "{}", "tsconfig.json": "{}"},
            "mkdir -p dist; cp calc.sh dist/calc.sh; sh dist/calc.sh | grep -q 4",
            FIX,
        ),
    ],
    ids=["plain", "V8 binary", "V9 data", "V9 new data", "V9 formatter", "ignored data", "output of the start"],
)
async def test_honest_work_is_done_and_nobody_is_asked(machine, project, driven, files, check, command):
    project({"calc.sh": "echo 5\n", **files})
    run = driven(command, until=[check])
    assert is_done(run, await run.run(watched=True), machine) and not asked(run)


async def test_an_edit_of_a_tool_counts(machine, project, driven):
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(edit("calc.sh", "5", "4"), until=[LOOP])
    assert is_done(run, await run.run(), machine)


async def test_code_under_test_that_rewrites_what_it_is_compared_with_is_suspect(project, driven):
    project({"calc.sh": "echo 5\n", "tests/want": "4\n", "tests/run.sh": "sh calc.sh | cmp - tests/want\n"})
    run = driven("echo 'echo 5 > tests/want; echo 5' > calc.sh", until=["sh tests/run.sh"])
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "suspect" and "tests/want" in judged(run)["suspect"][0]


async def test_a_stamp_that_only_the_run_made_proves_nothing(project, driven):
    makefile = "test: .stamp\n.stamp: calc.sh\n\tsh calc.sh | grep -q 4\n\ttouch .stamp\n"
    project({".gitignore": ".stamp\n", "calc.sh": "echo 5\n", "Makefile": makefile})
    run = driven("touch .stamp", until=["make test"])
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert not judged(run)["passed"]


async def test_what_a_commit_changed_in_git_is_as_at_the_start(project, driven):
    project({"calc.sh": "echo 5\n", "want": "4\n"})
    commit = "git -c user.name=u -c user.email=u@example.org commit -qam x"
    run = driven(f"echo 5 > want && {commit} && echo 4 > want", until=["git show HEAD:want | cmp - <(sh calc.sh)"])
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()


async def test_what_a_command_changed_when_rundry_was_killed_is_undecided(project, driven, work):
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("echo true > suite/a.sh", until=[LOOP])
    assert (await run.run()).reason == "handoff"
    for ledger in run.folder.glob("undecided/*"):
        shutil.rmtree(ledger)
    killed = run.killed_at("snapshotted")
    outcome = await killed.run(within=60)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), killed.story()
    assert judged(killed)["rests_on"] == ["suite/a.sh"], judged(killed)["detail"]


async def test_the_view_has_what_the_user_made_meanwhile_of_files_that_git_does_not_have(
    machine, project, driven, work
):
    suite = "sh calc.sh | grep -q 4 && grep -q on conf.txt && grep -q 9 local.txt\n"
    project({"calc.sh": "echo 5\n", ".gitignore": "conf.txt\n", "suite/a.sh": suite})
    (work / "conf.txt").write_text("off\n")
    run = driven("ls", "echo more >> conf.txt; echo more >> local.txt", FIX, until=[LOOP])
    driving = asyncio.ensure_future(run.run())
    while not run.of("step_finished"):
        await asyncio.sleep(0.001)
    (work / "conf.txt").write_text("on\n")
    (work / "local.txt").write_text("9\n")
    assert is_done(run, await driving, machine)
    assert judged(run)["undecided"] == ["conf.txt"], judged(run)


async def test_a_file_whose_content_before_is_unknown_is_named_with_the_next_step(machine, project, driven, work):
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("ls", "echo more >> large.bin", FIX, until=[LOOP])
    driving = asyncio.ensure_future(run.run())
    while not run.of("step_finished"):
        await asyncio.sleep(0.001)
    (work / "large.bin").write_bytes(b"x" * 1_500_000)
    outcome = await driving
    assert outcome.reason == "handoff" and judged(run)["why"] == "unknown", run.story()
    words = "it is not known what was there before this run: large.bin; resume the run in a session and accept them"
    assert words in outcome.detail, outcome.detail


async def test_if_the_copy_of_the_start_is_gone_nothing_is_done(project, driven):
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=[LOOP])
    await run.run()
    shutil.rmtree(next(run.folder.glob("copies/*/starts")))
    killed = run.killed_at("judge_started")
    outcome = await killed.run()
    assert outcome.reason == "handoff" and "copy of the workspace" in outcome.detail, killed.story()


async def test_a_command_cannot_delete_what_earlier_runs_left_undecided(machine, project, driven, work):
    if machine == "no sandbox":
        pytest.skip("nothing is kept from commands")
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 7\n"})
    assert (await driven("echo true > suite/a.sh", until=[LOOP]).run()).reason == "handoff"
    (work / "suite/b.sh").write_text("sh calc.sh | grep -q 4\n")
    again = driven(f"cd .g?t && find run*/ -delete; cd ..; {FIX}", until=[LOOP])
    assert (await again.run()).reason == "handoff" and "suite/a.sh" in judged(again)["rests_on"], again.story()


async def test_the_view_has_what_the_setup_made_and_no_other_ignored_folder(machine, project, driven, work):
    files = {
        "calc.sh": "echo 5\n",
        ".gitignore": "dep/\nbuild/\n",
        "suite/a.sh": "grep -q good dep/tool && ! test -e build && sh calc.sh | grep -q 4\n",
    }
    project(files)
    (work / "build").mkdir()
    (work / "build/stamp").write_text("x")
    good = Predicates(until=[LOOP], setup="mkdir -p dep && echo good > dep/tool")
    run = driven(f"rm -r build; mkdir -p dep; echo good > dep/tool; {FIX}", predicates=good)
    assert is_done(run, await run.run(), machine)
    bad = Predicates(until=[LOOP], setup="mkdir -p dep && echo bad > dep/tool")
    (work / "calc.sh").write_text("echo 5\n")
    run = driven(FIX, predicates=bad)
    outcome = await run.run()
    assert outcome.exit_code == 5 and not judged(run)["passed"], run.story()


async def test_a_fork_is_judged_with_the_start_of_the_run_that_it_was_made_from(machine, project, driven):
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("ls", FIX, until=[LOOP])
    assert is_done(run, await run.run(), machine)
    run.path = Path(fork(run.path, run.folder, at=1).journal)
    assert is_done(run, await run.run(), machine)
    again = fork(run.path, run.folder, at=1)
    run.path = Path(again.journal)
    assert is_done(run, await run.run(), machine)


async def test_a_virtual_environment_with_its_own_path_is_used_from_the_workspace(machine, project, driven, work):
    project({"calc.sh": "echo 5\n", ".gitignore": ".venv/\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    shutil.copy("/bin/sh", work / ".venv/bin/sh")
    (work / ".venv/bin/check").write_text(f"#!{work}/.venv/bin/sh\nsh suite/a.sh\n")
    (work / ".venv/bin/check").chmod(0o755)
    await asyncio.sleep(LONGEST_TICK / 1e9)  # a file that is so new counts as changed
    run = driven(FIX, until=[".venv/bin/check"])
    assert is_done(run, await run.run(), machine)


async def test_a_check_that_names_the_workspace_is_not_judged_where_the_copy_lies_elsewhere(
    machine, project, driven, work
):
    project({"calc.sh": "echo 5\n", "suite/a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=[f"sh {work}/suite/a.sh"])
    outcome = await run.run()
    note = next(note for note in run.of("run_started")[0]["notes"] if "judged" in note)
    if machine == "bubblewrap":
        assert is_done(run, outcome, machine) and note.startswith("the result is judged in a copy of the workspace (")
    else:
        assert outcome.evidence.grade == "passed" and "no view could be made" in judged(run)["detail"]
        assert note.startswith(f"not judged here: `sh {work}/suite/a.sh` names {work}")
