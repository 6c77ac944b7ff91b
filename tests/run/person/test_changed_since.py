"""What a resumed run says of files that somebody changed while it rested."""

from __future__ import annotations

from fakes.turns import call, edit, say

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import LoopKind, Say, Stop
from rundry.agent.run.start.changed_since import differs

STOP = Stop(how="now")


async def rested(driven, *turns):
    """A chat that wrote two files, and ended."""
    run = driven(
        edit("a.txt", "one", "ONE"),
        call("write_file", path="new.txt", content="made\n"),
        say("done"),
        *turns,
        loop=LoopKind.CHAT,
        task="do it",
    )
    run.on("waiting", STOP, why="message")
    await run.run(watched=True)
    return run


async def resumed(run, text: str = "go on"):
    """The run continues with a message. Returns the newest `run_resumed`."""
    run.on("waiting", Say(text=text), why="message")
    run.on("waiting", STOP, why="message", nth=2)
    await run.run(watched=True)
    return run.of("run_resumed")[-1]


def notes(run) -> list[str]:
    return [m.text for m in run.model.requests[-1].messages if m.text.startswith("The run rested")]


async def test_it_says_nothing_if_nothing_changed(driven):
    run = await rested(driven, say("ok"))
    found = await resumed(run)
    assert (found["changed"], found["head"]) == ([], []) and found["rested"] >= 0
    assert not notes(run)


async def test_what_changed_is_named_once_to_the_model_until_it_changes_again(driven, work):
    run = await rested(driven, say("ok"), say("ok"), say("ok"))
    (work / "a.txt").write_text("mine\n")
    assert (await resumed(run))["changed"] == ["a.txt"]
    assert len(notes(run)) == 1 and "saw or wrote them: a.txt. Read" in notes(run)[0]
    assert (await resumed(run))["changed"] == ["a.txt"]
    assert len(notes(run)) == 1
    (work / "new.txt").unlink()
    assert (await resumed(run))["changed"] == ["a.txt", "new.txt"]
    assert len(notes(run)) == 2 and "a.txt, new.txt" in notes(run)[1]


async def test_a_link_that_replaced_a_file_is_named_and_not_followed(driven, work, tmp_path):
    run = await rested(driven, say("ok"))
    secret = tmp_path / "elsewhere.txt"
    secret.write_text("ONE\n")
    (work / "a.txt").unlink()
    (work / "a.txt").symlink_to(secret)
    assert (await resumed(run))["changed"] == ["a.txt"]


async def test_a_write_that_a_kill_interrupted_is_not_somebody_elses(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), say("done"), loop=LoopKind.CHAT, task="do it")
    run.on("waiting", STOP, why="message")
    await run.run(watched=True)
    killed = run.killed_at("proposal_decided")
    killed.on("waiting", STOP, why="message")
    await killed.run(watched=True)
    assert (work / "a.txt").read_text() == "ONE\n"
    assert killed.of("run_resumed")[0]["changed"] == []
    assert not notes(killed)


async def test_a_file_that_is_too_large_to_compare_is_not_named(driven, work):
    run = await rested(driven, say("ok"))
    (work / "a.txt").write_text("x" * 2_000_001)
    assert (await resumed(run))["changed"] == []


async def test_a_file_that_the_model_only_read_is_named_if_it_changed(driven, work):
    (work / "read.txt").write_text("read\n")
    (work / "other.txt").write_text("never read\n")
    run = driven(call("read_file", path="read.txt"), say("done"), say("ok"), loop=LoopKind.CHAT, task="do it")
    run.on("waiting", STOP, why="message")
    await run.run(watched=True)
    (work / "other.txt").write_text("mine\n")
    assert (await resumed(run))["changed"] == []
    (work / "read.txt").write_text("mine\n")
    assert (await resumed(run))["changed"] == ["read.txt"]


async def test_a_file_that_the_run_itself_removed_is_not_named_unless_somebody_made_it_again(driven, work):
    (work / "read.txt").write_text("read\n")
    gone = call("run_command", command="rm read.txt")
    run = driven(call("read_file", path="read.txt"), gone, say("done"), say("ok"), loop=LoopKind.CHAT, task="do it")
    run.on("waiting", STOP, why="message")
    await run.run(watched=True)
    assert not (work / "read.txt").exists()
    assert (await resumed(run))["changed"] == []
    (work / "read.txt").write_text("mine\n")
    assert (await resumed(run))["changed"] == ["read.txt"]


def test_a_deletion_that_the_model_knows_of_is_not_a_change(tmp_path):
    assert not differs(Workspace(tmp_path), "gone.txt", {""})
    (tmp_path / "gone.txt").write_text("back\n")
    assert differs(Workspace(tmp_path), "gone.txt", {""})
