"""Without layers, a person keeps or restores each protected file that changed while a command ran under Landlock."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call, finish

from rundry.agent.protocol import Decide, GateMode, Interrupt, Unpause
from rundry.agent.sandbox.landlock import why_no_landlock

READ, DONE = call("read_file", path="a.txt"), finish("all is well", "a.txt:1")
PLANTS = {
    "a new hook": ("echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit"),
    "a changed hook": ("echo x > .git/hooks/pre-push", ".git/hooks/pre-push"),
    "a removed hook": ("rm .git/hooks/pre-push", ".git/hooks/pre-push"),
    "a link": ("ln -sf /bin/true .git/hooks/pre-push", ".git/hooks/pre-push"),
    "a setting": ("git config core.fsmonitor ./x", ".git/config"),
    "a file that git ignores": ("echo x > .idea/workspace.xml", ".idea/workspace.xml"),
    "a program": ("echo x > bin/tool", "bin/tool"),
}


@pytest.fixture
def driven(work: Path) -> Iterator[Callable[..., Driven]]:
    """A run on these turns, whose journal is on another file system than the workspace."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        yield lambda *turns, **options: Driven(Path(runs), work, ScriptedModel(turns), **options)


@pytest.fixture
def place(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository on a machine without bubblewrap, in which layers have no place."""
    if why := why_no_landlock():
        pytest.skip(why)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (broken / "bwrap").chmod(0o755)
    subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    (work / ".git/rundry").mkdir()
    (work / ".git/rundry").chmod(0o777)
    (work / ".git/info/exclude").write_text("bin\n.idea\n")
    for name in (".git/hooks/pre-push", "bin/tool", ".idea/workspace.xml"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("mine\n")
        (work / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}:{work / 'bin'}")
    return work


def state(path: Path) -> tuple[int, bytes] | str | None:
    if path.is_symlink():
        return os.readlink(path)
    return (path.stat().st_mode, path.read_bytes()) if path.exists() else None


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("verdict", ["approve", "reject"])
async def test_a_person_keeps_or_restores_each_file_that_a_command_planted(driven, place: Path, plant, verdict):
    line, name = PLANTS[plant]
    (place / "plant.sh").write_text(line)
    before = state(place / name)
    run = driven(call("run_command", command="sh plant.sh"), READ, DONE, gate=GateMode.AUTO)

    def decide(event):
        return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict, reason="not that")

    run.on("proposal_opened", decide, path=name)
    await run.run(watched=True)
    assert [event["decision"] for event in run.of("proposal_decided") if event["by"] == "person"] == [verdict], (
        run.story()
    )
    assert (state(place / name) == before) == (verdict == "reject"), run.story()
    (result,) = run.results("run_command")
    assert (f"`{name}` must not change" in result and "not that" in result) == (verdict == "reject"), result
    assert not run.of("changes_undecided")


async def test_a_change_of_many_files_asks_about_the_first_twenty_and_names_the_others(driven, place: Path):
    line = "for i in $(seq 10 39); do echo x > .git/hooks/h$i; done"
    (place / "plant.sh").write_text(line)
    run = driven(call("run_command", command="sh plant.sh"), READ, DONE, gate=GateMode.AUTO)

    def decide(event):
        return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict="reject", reason="no")

    for number in range(10, 30):
        run.on("proposal_opened", decide, path=f".git/hooks/h{number}")
    await run.run(watched=True)
    assert sorted(path.name for path in (place / ".git/hooks").glob("h??")) == [f"h{n}" for n in range(30, 40)]
    assert run.of("changes_undecided")[-1]["protected"] == [f".git/hooks/h{n}" for n in range(30, 40)]


async def test_without_a_person_what_a_command_planted_is_named_and_handed_over(driven, place: Path):
    (place / "plant.sh").write_text("echo x > .git/hooks/pre-commit")
    run = driven(call("run_command", command="sh plant.sh"), READ, DONE, gate=GateMode.AUTO)
    outcome = await run.run()
    assert outcome.reason == "handoff" and ".git/hooks/pre-commit" in outcome.detail, run.story()
    assert (place / ".git/hooks/pre-commit").read_text() == "x\n"
    assert run.of("changes_undecided")[-1]["protected"] == [".git/hooks/pre-commit"]


async def test_a_command_that_a_person_ends_leaves_its_changes_and_they_are_named(driven, place: Path):
    (place / "plant.sh").write_text("echo x > .git/hooks/pre-commit; echo planted; exec sleep 600")
    run = driven(call("run_command", command="sh plant.sh"), READ, DONE, gate=GateMode.AUTO)
    run.on("output_arrived", Interrupt()).on("interrupted", Unpause())
    await run.run(watched=True)
    assert (place / ".git/hooks/pre-commit").read_text() == "x\n"
    assert run.of("changes_undecided")[-1]["protected"] == [".git/hooks/pre-commit"], run.story()
