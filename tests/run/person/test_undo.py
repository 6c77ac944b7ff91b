"""Undo: what the run changed comes back, what someone else did since stays."""

from __future__ import annotations

import pytest
from fakes.turns import Call, call, calls, edit, say
from run.person.undoing import DONE, STOP, refusals, sh, take_back, tree, undone, write

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Decide,
    GateMode,
    LoopKind,
    Predicates,
    Say,
    Undo,
)
from rundry.agent.repo.old_snapshots.restore import FileVersion
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.commands.undo_plan import FileRestore
from rundry.agent.state.facts.change_log import FileEffect
from rundry.agent.state.facts.run_facts import fold
from rundry.agent.state.facts.standing_changes import standing_changes


async def test_the_newest_change_comes_back_then_the_one_before_it_and_never_forth_again(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), edit("b.txt", "two", "TWO"), write("new/c.txt", "c\n"), DONE)
    await run.run()
    assert undone(await take_back(run)).files == ["new/c.txt"]
    assert not (work / "new").exists()
    assert undone(await take_back(run)).files == ["b.txt"]
    assert (work / "b.txt").read_text() == "two\n" and (work / "a.txt").read_text() == "ONE\n"
    assert undone(await take_back(run)).files == ["a.txt"]
    assert refusals(await take_back(run)) == ["all changes are undone already"]
    assert tree(work) == {"a.txt": ("file", 0o644, b"one\n"), "b.txt": ("file", 0o644, b"two\n")}


async def test_several_changes_of_one_file_are_one_way_back(driven, work):
    run = driven(edit("a.txt", "one", "1"), edit("a.txt", "1", "2"), edit("a.txt", "2", "3"), DONE)
    await run.run()
    events = await take_back(run, Undo(changes=2))
    assert (work / "a.txt").read_text() == "1\n"
    (moved,) = [s.event for s in events if s.event.__class__.__name__ == "FileChanged"]
    assert (moved.by, moved.path) == ("undo", "a.txt")
    view = Journal.open(run.path)
    assert (view.blobs.load(moved.before), view.blobs.load(moved.after)) == (b"3\n", b"1\n")
    view.close()
    assert undone(await take_back(run, Undo(changes=9))).changes == 1
    assert (work / "a.txt").read_text() == "one\n"


async def test_back_to_a_step_takes_all_that_came_since_it_began(driven, work):
    both = calls(Call("write_file", {"path": "x", "content": "x"}), Call("run_command", {"command": "rm b.txt"}))
    run = driven(edit("a.txt", "one", "ONE"), both, edit("a.txt", "ONE", "TWO"), DONE)
    await run.run()
    event = undone(await take_back(run, Undo(step=2)))
    assert (event.changes, event.step, event.files) == (3, 2, ["a.txt", "b.txt", "x"])
    assert tree(work) == {"a.txt": ("file", 0o644, b"ONE\n"), "b.txt": ("file", 0o644, b"two\n")}
    assert "no step 9" in refusals(await take_back(run, Undo(step=9)))[0]
    assert "is left to undo" in refusals(await take_back(run, Undo(step=2)))[0]


async def test_what_a_command_did_comes_back_with_modes_links_and_exact_bytes(driven, work):
    (work / "bin").write_bytes(bytes(range(256)) + b"\r\n\xff")
    (work / "run.sh").write_text("true\n")
    (work / "run.sh").chmod(0o640)
    (work / "locked").write_text("locked\n")
    (work / "locked").chmod(0o444)
    (work / "link").symlink_to("a.txt")
    (work / "was-file").write_text("file\n")
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er/gone").write_text("gone\n")
    before = tree(work)
    run = driven(
        sh(
            "printf x >> bin; chmod 755 run.sh; rm -f locked; echo other > locked; chmod 444 locked;"
            " ln -sfn b.txt link; rm was-file; ln -s a.txt was-file; rm -r deep; mkdir made; echo m > made/m;"
            " rm a.txt; ln -s b.txt a.txt; mkdir -p b.d && mv b.txt b.d/"
        ),
        call("finish", answer="x", citations=["b.d/b.txt:1"]),
        DONE,
    )
    await run.run()
    assert tree(work) != before
    event = undone(await take_back(run))
    assert event.kept == [], event
    assert tree(work) == before


async def test_only_permissions_that_the_command_changed_come_back(driven, work):
    run = driven(sh("chmod 700 a.txt; echo more >> b.txt"), DONE)
    await run.run()
    (work / "b.txt").chmod(0o600)
    assert undone(await take_back(run)).files == ["a.txt", "b.txt"]
    assert tree(work) == {"a.txt": ("file", 0o644, b"one\n"), "b.txt": ("file", 0o600, b"two\n")}


async def test_permissions_that_an_edit_kept_come_back_with_a_file_that_was_removed_after_it(driven, work):
    (work / "a.txt").chmod(0o750)
    run = driven(edit("a.txt", "one", "ONE"), sh("rm a.txt"), call("finish", answer="x", citations=["b.txt:1"]))
    await run.run()
    await take_back(run, Undo(changes=2))
    assert tree(work)["a.txt"] == ("file", 0o750, b"one\n")


async def test_a_file_that_someone_changed_since_is_left_and_named_and_the_others_come_back(driven, work):
    run = driven(sh("echo 1 > a.txt; echo 2 > b.txt; echo 3 > c.txt; echo 4 > d.txt; chmod 755 d.txt"), DONE)
    await run.run()
    (work / "a.txt").write_text("mine\n")
    (work / "c.txt").unlink()
    (work / "c.txt").mkdir()
    (work / "c.txt/inner").write_text("mine\n")
    event = undone(await take_back(run))
    assert event.files == ["b.txt", "d.txt"]
    assert [line.partition(": ")[0] for line in event.kept] == ["a.txt", "c.txt"]
    assert "someone changed it since" in event.kept[0]
    assert (work / "a.txt").read_text() == "mine\n" and (work / "c.txt/inner").read_text() == "mine\n"
    assert (work / "b.txt").read_text() == "two\n" and not (work / "d.txt").exists()


async def test_someones_work_between_two_changes_stops_the_way_back_there(driven, work):
    run = driven(edit("a.txt", "one", "1"), say("hm"), loop=LoopKind.CHAT)
    run.on("waiting", STOP)
    await run.run(watched=True)
    (work / "a.txt").write_text("1\nmine\n")
    run.model.turns += [edit("a.txt", "1", "2"), say("done")]
    run.on("waiting", STOP, nth=1)
    await run.run(watched=True, changes=ResumeChanges(hint="and now 2"))
    assert (work / "a.txt").read_text() == "2\nmine\n", run.story()
    event = undone(await take_back(run, Undo(changes=2)))
    assert (work / "a.txt").read_text() == "1\nmine\n"
    assert event.files == ["a.txt"]
    assert event.kept == ["a.txt: someone changed it after step 1"]


async def test_the_model_reads_before_its_next_call_and_the_run_continues_only_when_asked(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), say("done"), loop=LoopKind.CHAT)
    run.on("waiting", Undo())
    run.on("command_taken", Say(text="and now?"), command="undo")
    run.on("waiting", STOP, nth=2)
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == "one\n", run.story()
    assert len(run.model.requests) == 3
    told = run.heard(2)
    assert "The person undid your last change. Restored: a.txt." in told
    assert told.index("The person undid") < told.index("and now?")
    assert fold(run.spec, run.stamped).files_changed == []
    run.assert_legal()


async def test_after_the_end_a_lingering_runner_obeys_and_does_not_drive_on(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), DONE).on("run_ended", Undo()).on("command_taken", STOP, command="undo")
    await run.run(watched=True, linger=True)
    assert (work / "a.txt").read_text() == "one\n"
    assert len(run.model.requests) == 2
    assert run.types().index("undone") > run.types().index("run_ended")
    assert "run_resumed" not in run.types()


async def test_while_a_step_runs_it_is_refused_with_the_way_out(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), sh("sleep 0.3"), DONE)
    run.on("tool_called", Undo(), tool="run_command")
    await run.run()
    assert [e["why"] for e in run.of("command_refused")] == ["a step runs: interrupt it first, then undo"]
    assert (work / "a.txt").read_text() == "ONE\n"


async def test_of_folders_only_those_go_that_were_made_for_a_file(driven, work):
    (work / "empty").mkdir()
    run = driven(write("empty/new/c.txt", "c\n"), sh("echo 2 > b.txt"), DONE)
    await run.run()
    assert sorted(undone(await take_back(run, Undo(changes=2))).files) == ["b.txt", "empty/new/c.txt"]
    assert tree(work / "empty") == {}


async def test_what_was_restored_at_the_gate_is_not_a_change(driven, work):
    (work / "conftest.py").write_text("x = 1\n")
    wanted = Predicates(until=["true && false"], guard=["conftest.py"])
    run = driven(sh("echo 2 > conftest.py; echo 3 > c.txt"), sh("echo 2 > conftest.py"), DONE, predicates=wanted)
    await run.run()
    assert (work / "conftest.py").read_text() == "x = 1\n"
    view = Journal.open(run.path)
    assert [list(change.files) for change in standing_changes(view).standing] == [["c.txt"]], run.story()
    view.close()


async def test_an_edit_that_the_person_changed_at_the_gate_is_undone_and_counted(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), DONE, gate=GateMode.ASK)
    run.on(
        "proposal_opened",
        lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="approve", text="mine\n"),
    )
    outcome = await run.run(watched=True)
    assert (work / "a.txt").read_text() == "mine\n" and outcome.files_changed == ["a.txt"], run.story()
    assert undone(await take_back(run)).files == ["a.txt"]
    assert (work / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("count", [1000])
async def test_a_command_that_changed_a_thousand_files_is_one_change(driven, work, count):
    many = work / "many"
    many.mkdir()
    for number in range(count):
        (many / f"f{number}").write_text(f"{number}\n")
    before = tree(work)
    run = driven(sh("for f in many/*; do echo changed > $f; done"), DONE)
    await run.run()
    event = undone(await take_back(run))
    assert (event.changes, len(event.files), event.kept) == (1, count, [])
    assert tree(work) == before


def test_what_is_restored_counts_the_lines_of_all_its_changes_the_other_way_round():
    one, two, three = (FileVersion(name) for name in ("1", "2", "3"))
    restore = FileRestore("a.txt", three, three, "blob 3", "blob 3")
    restore.add_older(two, three, FileEffect(before="blob 2", after="blob 3", added=5, removed=1))
    restore.add_older(one, two, FileEffect(before="blob 1", after="blob 2", added=2, removed=4))
    moved = restore.moved()
    assert (moved.before, moved.after, moved.added, moved.removed) == ("blob 3", "blob 1", 5, 7)
    assert restore.want is not None and restore.want.sha == "1"
