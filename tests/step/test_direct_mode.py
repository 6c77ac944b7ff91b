"""Without layers a command writes in place: what it changed is known, nothing is restored, and somebody decides."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY, git
from fakes.models.model import ScriptedModel
from fakes.turns import call, edit, say
from run.person.undoing import sh, take_back, undone, write

from rundry.agent.protocol import GateMode, Undo
from rundry.agent.sandbox.landlock import why_no_landlock


@pytest.fixture(params=["bubblewrap", "landlock"])
def work(request, tmp_path, monkeypatch):
    """A repository in which no layer has a place, and a sandbox of each kind."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name, text in {"a.txt": "one\n", "b.txt": "two\n", "sub/c.txt": "three\n", ".gitignore": "ignored/\n"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", "-C", folder, *IDENTITY, *words], check=True, capture_output=True)
    git(folder, "config", "user.name", "u")
    git(folder, "config", "user.email", "u@example.org")
    (folder / "mine.txt").write_text("not in git\n")
    (folder / ".git/rundry").mkdir()
    (folder / ".git/rundry").chmod(0o777)
    if request.param == "landlock":
        if why := why_no_landlock():
            pytest.skip(why)
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "bwrap").write_text("#!/bin/sh\nexit 1\n")
        (broken / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def driven(work):
    """Makes a run whose journal is on another file system than its workspace."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:

        def make(*turns, **options):
            turns = [sh(turn) if isinstance(turn, str) else turn for turn in turns]
            return Driven(Path(runs), work, ScriptedModel([*turns, say("done")]), **options)

        yield make


def changed(run):
    return {e["path"]: e["by"] for e in run.of("file_changed")}


async def test_what_a_command_changed_is_recorded_and_undone_where_git_or_the_run_has_it(driven, work):
    run = driven(
        edit("b.txt", "two", "TWO"),
        "echo more >> a.txt; rm sub/c.txt; echo x >> b.txt; mkdir new; echo n > new/n; echo y >> mine.txt; "
        "chmod +x a.txt",
    )
    await run.run()
    assert changed(run) == dict.fromkeys(("a.txt", "sub/c.txt", "b.txt", "new/n", "mine.txt"), "command")
    back = undone(await take_back(run))
    assert back.files == ["a.txt", "b.txt", "new/n", "sub/c.txt"]
    assert back.kept == ["mine.txt: not undone, because its old content is not kept"]
    assert (work / "a.txt").read_text() == "one\n" and not os.access(work / "a.txt", os.X_OK)
    assert (work / "b.txt").read_text() == "TWO\n" and (work / "sub/c.txt").read_text() == "three\n"
    assert (work / "mine.txt").read_text() == "not in git\ny\n" and not (work / "new").exists()
    assert undone(await take_back(run)).files == ["b.txt"] and git(work, "status", "--porcelain") == "?? mine.txt\n"


async def test_a_file_that_somebody_changed_after_the_command_stays_at_an_undo(driven, work):
    run = driven("echo more >> a.txt; echo more >> b.txt")
    await run.run()
    (work / "a.txt").write_text("the user's\n")
    back = undone(await take_back(run))
    assert back.files == ["b.txt"] and back.kept == ["a.txt: not undone, because someone changed it since"]
    assert (work / "a.txt").read_text() == "the user's\n" and (work / "b.txt").read_text() == "two\n"


async def test_a_file_that_is_only_touched_is_not_changed(driven):
    run = driven("touch a.txt; chmod 600 b.txt; cat a.txt > /dev/null", "echo $(cat a.txt) > /dev/null")
    await run.run()
    assert changed(run) == {} and run.of("effects_accepted") == []


async def test_a_commit_of_a_command_is_in_the_repository_and_no_file_of_git_is_listed(driven, work):
    run = driven("echo more >> a.txt; git commit -qam 'of the model'; git stash list; git gc -q; git status")
    await run.run()
    assert git(work, "log", "--format=%s") == "of the model\nstart\n" and changed(run) == {"a.txt": "command"}
    assert git(work, "fsck") == "" and not run.of("changes_undecided")


@pytest.mark.parametrize(
    "path",
    [
        "ignored/.vscode/tasks.json", "ignored/deep/.envrc", "ignored/.husky/pre-push", "sub/AGENTS.md", "sub/.envrc",
        "ignored/.idea/workspace.xml", "ignored/.cargo/config.toml", "ignored/.claude/settings.json",
        "ignored/.devcontainer/devcontainer.json",
    ],
)  # fmt: skip
async def test_a_protected_file_is_named_wherever_it_lies_and_hands_a_headless_run_over(driven, work, path):
    (work / "plant.sh").write_text(f"mkdir -p $(dirname {path}); echo x > {path}; touch planted")
    run = driven("sh plant.sh", until=["test -e planted"], gate=GateMode.AUTO)
    outcome = await run.run()
    assert run.of("changes_undecided")[-1]["protected"] == [path], run.story()
    assert outcome.reason == "handoff" and path in outcome.detail
    assert (work / path).read_text() == "x\n" and f"{path} changed while the command ran" in run.results("run_command")[
        0
    ]


async def test_a_new_repository_is_named_as_a_whole(driven, work):
    run = driven("mkdir -p deep/er; git init -q deep/er; git init -q --bare deep/bare")
    await run.run()
    assert {"deep/er/.git", "deep/bare"} <= {*run.of("changes_undecided")[-1]["protected"]}, run.story()
    assert not any(".git" in path for path in changed(run))


async def test_a_file_that_the_settings_of_git_name_is_protected(driven, work):
    (work / "tools").mkdir()
    (work / "tools/watch").write_text("old\n")
    git(work, "config", "core.fsmonitor", "tools/watch")
    run = driven("echo new > tools/watch")
    await run.run()
    assert run.of("changes_undecided")[-1]["protected"] == ["tools/watch"], run.story()


async def test_nothing_that_the_user_does_while_a_command_runs_is_restored(driven, work):
    (work / "tests").mkdir()
    (work / "tests/test_x.py").write_text("def test_x(): pass\n")
    run = driven("touch begun; until test -e go; do sleep 0.02; done; echo x >> b.txt", gate=GateMode.AUTO)

    async def user():
        while not (work / "begun").exists():
            await asyncio.sleep(0.02)
        (work / "tests/test_x.py").write_text("def test_x(): assert 1\n")
        (work / "tests/test_new.py").write_text("new\n")
        (work / "Makefile").write_text("all:\n")
        (work / ".envrc").write_text("export MINE=1\n")
        git(work, "commit", "-q", "--allow-empty", "-m", "the user's")
        (work / "go").touch()

    working = asyncio.ensure_future(user())
    await run.run()
    await working
    assert (work / "tests/test_x.py").read_text() == "def test_x(): assert 1\n"
    assert (work / "tests/test_new.py").exists() and (work / "Makefile").exists()
    assert (work / ".envrc").read_text() == "export MINE=1\n"
    assert git(work, "log", "--format=%s").startswith("the user's\n")
    assert "restore" not in {e["by"] for e in run.of("file_changed")}


async def test_a_background_command_cannot_write_a_protected_file(driven, work):
    names = ".envrc AGENTS.md .rundry.toml .vscode/tasks.json a.txt"
    line = f"while :; do for f in {names}; do echo x > $f; done 2>&1; sleep 0.05; done"
    run = driven(call("start_command", name="s", command=line), "sleep 1; echo waited > waited", gate=GateMode.AUTO)
    await run.run()
    assert (work / "waited").exists(), run.story()
    assert not any((work / name).exists() for name in (".envrc", "AGENTS.md", ".rundry.toml", ".vscode"))
    assert (work / "a.txt").read_text() == "one\n" and not run.of("changes_undecided")


async def test_the_question_before_a_command_says_what_an_undo_cannot_restore(driven):
    run = driven("echo x >> a.txt", "cat a.txt", gate=GateMode.ASK)
    await run.run()
    writing, reading = run.of("proposal_opened")
    line = "it writes to the workspace itself: changes of files that neither git nor this run has cannot be undone"
    assert line in writing["asks"] and line not in reading["asks"]


async def test_the_files_of_a_large_workspace_are_compared(driven, work):
    (work / "plant.sh").write_text("echo x > .envrc; echo y >> a.txt")
    run = driven("mkdir many; cd many; seq 31000 | xargs touch", "sh plant.sh", gate=GateMode.AUTO)
    await run.run(within=120)
    assert changed(run)["a.txt"] == "command" and run.of("changes_undecided")[-1]["protected"] == [".envrc"]
    assert len(run.of("file_changed")) <= 1_002
    back = undone(await take_back(run))
    assert "a.txt" in back.files and (work / "a.txt").read_text() == "one\n"


async def test_an_undo_of_a_command_leaves_what_nobody_confirmed(driven, work):
    run = driven(write("made.txt", "made\n"), "echo more >> a.txt")
    await run.run()
    from rundry.agent.journal.journal import Journal
    from rundry.agent.run.commands.undo_after_end import handle_after_end

    view = Journal.open(run.path)
    view.inbox.put(Undo())
    await handle_after_end(run.path)
    (refused,) = [s.event.why for s in view.read() if hasattr(s.event, "command_id") and hasattr(s.event, "why")]
    view.close()
    assert refused.startswith("a.txt: changed while a command ran") and (work / "a.txt").read_text() == "one\nmore\n"


async def test_a_new_protected_file_that_a_check_makes_hands_a_headless_run_over(driven, work):
    run = driven("echo x >> a.txt", until=["echo x > .envrc; grep -q x a.txt"], scope=["a.txt"], gate=GateMode.AUTO)
    outcome = await run.run()
    assert outcome.reason == "handoff" and ".envrc" in outcome.detail, run.story()
    assert run.of("changes_undecided")[-1]["protected"] == [".envrc"]
