"""What a rewind shows before it is what it does: edits, what commands changed, and what somebody changed since."""

from __future__ import annotations

from fakes.turns import call, edit, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import LoopKind, Rewind, Stop
from rundry.agent.run.commands.rewind_preview import RewindPreview, preview_rewind
from rundry.agent.run.commands.undo_after_end import handle_after_end
from rundry.agent.state.facts.standing_changes import standing_changes

COMMAND = "echo 2 > b.txt; rm c.txt; echo new > d.txt; ln -s a.txt link"


async def preview_of(run, seq: int) -> RewindPreview:
    view = Journal.open(run.path)
    try:
        return await preview_rewind(view, standing_changes(view).after(seq))
    finally:
        view.close()


async def changed(driven, work):
    """A chat that edited a file twice, and changed others by a command."""
    (work / "c.txt").write_text("three\n")
    run = driven(
        edit("a.txt", "one", "first"),
        call("run_command", command=COMMAND),
        edit("a.txt", "first", "second"),
        say("done"),
        loop=LoopKind.CHAT,
        task="do it",
    )
    run.on("waiting", Stop(how="now"), why="message")
    await run.run(watched=True)
    return run, run.of("said")[0]["seq"]


async def test_it_has_the_bytes_of_now_and_then_of_each_file(driven, work):
    run, seq = await changed(driven, work)
    shown = {one.path: (one.now, one.then, one.stays) for one in (await preview_of(run, seq)).files}
    assert shown.pop("link") == (None, None, "")
    assert shown == {
        "a.txt": (b"second\n", b"one\n", ""),
        "b.txt": (b"2\n", b"two\n", ""),
        "c.txt": (None, b"three\n", ""),
        "d.txt": (b"new\n", None, ""),
    }
    assert (work / "a.txt").read_text() == "second\n" and (work / "d.txt").exists()


async def test_what_it_shows_is_what_the_rewind_does(driven, work):
    run, seq = await changed(driven, work)
    (work / "a.txt").write_text("mine\n")
    (work / "b.txt").unlink()
    (work / "b.txt").symlink_to("a.txt")
    (work / "c.txt").write_text("mine, too\n")
    files = (await preview_of(run, seq)).files
    view = Journal.open(run.path)
    view.inbox.put(Rewind(seq=seq))
    view.close()
    await handle_after_end(run.path)
    view = Journal.open(run.path)
    (undone,) = [s.event for s in view.read() if type(s.event).__name__ == "Undone"]
    view.close()
    assert sorted(one.path for one in files if not one.stays) == undone.files == ["d.txt", "link"]
    assert sorted(one.path for one in files if one.stays) == [line.partition(":")[0] for line in undone.kept]
    assert [one.path for one in files][:3] == ["a.txt", "b.txt", "c.txt"], "those that stay come first"
    assert (work / "a.txt").read_text() == "mine\n" and not (work / "d.txt").exists()


async def test_a_file_that_is_already_as_it_was_is_not_named(driven, work):
    run, seq = await changed(driven, work)
    (work / "a.txt").write_text("one\n")
    assert "a.txt" not in {one.path for one in (await preview_of(run, seq)).files}
