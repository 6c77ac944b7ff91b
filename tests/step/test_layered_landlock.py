"""Runs with layers where Landlock is the sandbox, and where the layers lie in the git folder of the workspace."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call, say
from fakes.visible_folders import visible_folder

from rundry.agent.protocol import Decide, GateMode, Hook, Predicates, Rule
from rundry.agent.sandbox import sandbox
from rundry.agent.sandbox.landlock import why_no_landlock

from .layered import events, three_folders, with_layers

IDENTITY = "-c user.name=u -c user.email=u@example.org"


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request, monkeypatch):
    if request.param == "landlock":
        if why_no_landlock():
            pytest.skip(why_no_landlock())
        monkeypatch.setattr(sandbox, "find_bubblewrap", lambda avoid: None)
    elif sandbox.find_bubblewrap(None) is None:
        pytest.skip("bubblewrap is not here")
    return request.param


@pytest.fixture
def place(pytestconfig, kind):
    with three_folders(visible_folder(pytestconfig.rootpath)) as folder:
        yield folder


@pytest.fixture
def repository(place):
    work = place / "work"
    for words in ("init -q -b main", "add .", f"{IDENTITY} commit -q -m start"):
        subprocess.run(["git", "-C", work, *words.split()], check=True)
    return work


async def test_commands_write_into_layers(place, kind):
    work = place / "work"
    (work / "sub").mkdir()
    run = with_layers(
        place,
        "cd sub && pwd && echo x > made && echo more >> ../kept.txt",
        "cat kept.txt; echo 'export A=1' > .envrc; touch ../outside/a",
        "(setsid sh -c 'trap \"\" TERM; sleep 3; echo late >> kept.txt' &) ; rm gone.txt",
    )
    await run.run()
    assert (work / "kept.txt").read_text() == "one\nmore\n" and (work / "sub/made").exists()
    assert not (work / "gone.txt").exists() and not (work / ".envrc").exists()
    assert os.listdir(place / "outside") == [] and f"{work}/sub" in run.heard()
    assert "one\nmore" in run.heard() and "Not applied: `.envrc`: nobody is here to approve it" in run.heard()


async def test_a_commit_and_a_check(repository, place):
    wanted = Predicates(
        until=["grep -q more kept.txt && git log --format=%s | grep -q work && echo x > dropped"], scope=["**"]
    )
    run = with_layers(place, f"echo more >> kept.txt; git {IDENTITY} commit -qam work", predicates=wanted)
    outcome = await run.run()
    assert outcome.complete, run.story()
    assert not (repository / "dropped").exists()
    status = subprocess.run(["git", "-C", repository, "status", "--porcelain"], check=True, capture_output=True)
    assert status.stdout == b""


async def test_a_hook_before_a_tool_changes_nothing(place):
    work = place / "work"
    hook = Hook(on="before-tool", command="touch -d 2001-01-01 kept.txt; chmod 777 kept.txt; echo x >> kept.txt; true")
    before = (work / "kept.txt").stat()
    run = with_layers(place, "cat kept.txt", hooks=[hook])
    await run.run()
    now = (work / "kept.txt").stat()
    assert (now.st_mtime_ns, now.st_ctime_ns, now.st_mode) == (before.st_mtime_ns, before.st_ctime_ns, before.st_mode)
    assert [one["result"] for one in events(run, "hook_ran")] == ["passed"]


async def test_layers_in_the_git_folder(repository, place):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        judge = 'git log --format=%s | grep -q work && test -z "$(ls -A .git/rundry)" && echo x > dropped'
        run = with_layers(
            place,
            "ls -A .git/rundry; echo more >> kept.txt; rm -rf .git/rundry; echo forged > .git/rundry/x",
            f"git {IDENTITY} commit -qam work; git status --short",
            runs=Path(runs),
            predicates=Predicates(until=[judge], scope=["**"]),
        )
        outcome = await run.run()
        assert outcome.complete, run.story()
    assert (repository / "kept.txt").read_text() == "one\nmore\n"
    log = subprocess.run(["git", "-C", repository, "log", "--format=%s"], check=True, capture_output=True, text=True)
    assert log.stdout.split() == ["work", "start"]
    left = [path for path in (repository / ".git/rundry").rglob("*") if path.is_file() and path.name != "lock"]
    assert left == [], "no layer and no order is left"
    assert not [one for one in events(run, "file_changed") if ".git" in one["path"]]


async def test_a_background_process_does_not_see_the_layers_in_the_git_folder(repository, place):
    script = "ls -A .git/rundry | sed s/^/seen:/; rm -rf .git/rundry/*; echo x > of_background; echo looked; sleep 60"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        turns = [
            call("start_command", name="look", command=script),
            call("run_command", command="echo x > of_command"),
            say("done"),
        ]
        wanted = Predicates(until=["ls of_command"], scope=["**"])
        run = Driven(Path(runs), repository, ScriptedModel(turns), predicates=wanted)
        approve = lambda one: Decide(proposal_id=one["proposal_id"], digest=one["digest"], verdict="approve")  # noqa: E731
        run.on("proposal_opened", approve, tool="start_command")
        outcome = await run.run(watched=True)
        assert outcome.complete, run.story()
    (ended,) = events(run, "background_ended")
    assert ended["output"].splitlines()[-1] == "looked" and not (repository / "of_background").exists(), ended
    assert (repository / "of_command").exists() and (repository / ".git/rundry/orders").is_dir()


async def test_in_a_stage_another_name_does_not_make_a_hidden_file_readable(repository, place):
    (repository / ".env").write_text("hush\n")
    (repository / "plant.sh").write_text("ln .env hard; mkdir -p d; ls")
    (repository / "read.sh").write_text("cat hard .env; cp hard copied; echo end")
    rules = [Rule(verdict="deny", path=".env")]
    run = with_layers(place, "sh plant.sh", "sh read.sh", "cat copied; true", gate=GateMode.STAGE, rules=rules)
    await run.run()
    assert run.of("stage_began") and "hush" not in run.heard() and "end" in run.heard(), run.heard()
