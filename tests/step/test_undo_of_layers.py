"""An undo of what commands did in layers takes back exactly that, by name, and nothing of anybody else."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fakes.in_process.layered_run import decide
from fakes.project import git
from fakes.turns import call, edit, finish
from run.person.undoing import refusals, take_back, tree, undone
from step.layered import with_layers
from step.test_layered_commands import begun

from rundry.agent.journal.journal import Journal
from rundry.agent.layers.displaced_files import MOST_BYTES
from rundry.agent.layers.effect_rows import decode_rows
from rundry.agent.layers.orders import Order, Orders
from rundry.agent.protocol import LoopKind, Rewind, Stop, Undo, UndoAccepted, Undone
from rundry.agent.state.facts.standing_changes import standing_changes
from rundry.agent.state.reports.changed_files import changed_files

LARGE = 1_500_000


@pytest.fixture
def work(place):
    return place / "work"


@pytest.fixture
def repository(work):
    git(work, "init", "-q", "-b", "main")
    git(work, "config", "user.name", "u")
    git(work, "config", "user.email", "u@example.org")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "start")
    return work


def repository_state(work):
    refs = git(work, "for-each-ref", "--format=%(refname) %(objectname)")
    return refs, (work / ".git/HEAD").read_text(), git(work, "ls-files", "-s"), git(work, "stash", "list")


def texts(work):
    return {path.name: path.read_text() for path in work.iterdir() if path.is_file()}


async def test_it_takes_back_what_the_command_did_and_nothing_that_the_user_did_meanwhile(work, driven):
    run = driven("echo mine > made; echo more >> kept.txt; sleep 2.0551")

    async def user():
        await begun("2.0551")
        (work / "theirs.txt").write_text("theirs\n")
        (work / "gone.txt").unlink()

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run()
    event = undone(await take_back(run))
    assert event.files == ["kept.txt", "made"] and event.kept == []
    assert texts(work) == {"kept.txt": "one\n", "theirs.txt": "theirs\n"}


async def test_names_that_are_not_text_come_back(work, driven):
    old, new = work / os.fsdecode(b"old\xff"), work / os.fsdecode(b"new\xfe")
    old.write_text("old\n")
    before = tree(work)
    run = driven(r"rm -- $(printf 'old\377'); echo new > $(printf 'new\376'); echo x > kept.txt")
    await run.run()
    assert not old.exists() and new.exists()
    event = undone(await take_back(run))
    assert event.kept == [] and len(event.files) == 3
    assert tree(work) == before


async def test_trees_links_modes_and_types_come_back(work, driven):
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er/gone").write_text("gone\n")
    (work / "key").write_text("secret-free\n")
    (work / "key").chmod(0o600)
    (work / "run.sh").write_text("true\n")
    (work / "link").symlink_to("kept.txt")
    (work / "was-file").write_text("file\n")
    (work / "bin").write_bytes(bytes(range(256)))
    before = tree(work)
    run = driven(
        "rm -r deep; mkdir -p made/in; echo m > made/in/m; mkdir empty; rm key; chmod +x run.sh; ln -sfn gone.txt link;"
        " rm was-file; mkdir was-file; echo 1 > was-file/x; printf x >> bin; rm gone.txt; ln -s kept.txt gone.txt"
    )
    await run.run()
    assert tree(work) != before
    event = undone(await take_back(run))
    assert event.kept == [], event
    assert tree(work) == before


async def test_a_folder_alone_is_taken_back(work, driven):
    run = driven("mkdir -p only/this")
    await run.run()
    assert (work / "only/this").is_dir()
    event = undone(await take_back(run))
    assert not (work / "only").exists() and event.files == [] and event.also == ["1 folder: only/this"]


async def test_large_files_come_back_from_what_the_apply_displaced(work, driven, place):
    rewritten, deleted = os.urandom(LARGE), os.urandom(LARGE)
    (work / "rewritten").write_bytes(rewritten)
    (work / "deleted").write_bytes(deleted)
    run = driven("head -c 2000000 /dev/zero > rewritten; rm deleted; head -c 3000000 /dev/zero > new")
    await run.run()
    assert (work / "rewritten").stat().st_size == 2_000_000 and not (work / "deleted").exists()
    assert "This cannot be undone" not in run.heard()
    assert listed(run.path) == {"rewritten": False, "deleted": False, "new": False}
    event = undone(await take_back(run))
    assert event.kept == [], event
    assert (work / "rewritten").read_bytes() == rewritten and (work / "deleted").read_bytes() == deleted
    assert not (work / "new").exists() and not list((place / "runs").glob("layers/*/kept/*/*"))
    assert all(listed(run.path).values())


def listed(path):
    """Return whether each changed file is undone, as the screen lists them."""
    view = Journal.open(path)
    try:
        return {file.path: file.is_undone for file in changed_files(view)}
    finally:
        view.close()


async def test_where_layers_lie_in_the_git_folder_an_undo_finds_what_was_displaced(repository, place):
    work, big = repository, os.urandom(LARGE)
    (work / "big").write_bytes(big)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        run = with_layers(place, "rm big; echo x >> kept.txt; git add kept.txt", runs=Path(runs))
        await run.run()
        assert not (work / "big").exists() and list((work / ".git/rundry/kept").glob("*/*")), run.story()
        event = undone(await take_back(run))
        assert event.kept == [] and (work / "big").read_bytes() == big
        assert git(work, "status", "--porcelain").split() == ["??", "big"]


async def test_where_there_is_no_room_for_displaced_files_the_model_reads_it_and_the_rest_is_undone(
    work, driven, place
):
    first = driven("true")
    await first.run()
    (base,) = (place / "runs/layers").iterdir()
    (base / "kept/other").mkdir(parents=True)
    with (base / "kept/other/file").open("wb") as file:
        file.truncate(MOST_BYTES)
    (work / "big").write_bytes(os.urandom(LARGE))
    run = driven("head -c 2000000 /dev/zero > big; echo x >> kept.txt")
    await run.run()
    assert "This cannot be undone, because the old content is too large to be kept: big." in run.heard()
    event = undone(await take_back(run))
    assert event.files == ["kept.txt"]
    assert event.kept == ["big: not undone, because its old content is not kept"]
    assert (work / "big").stat().st_size == 2_000_000 and (work / "kept.txt").read_text() == "one\n"


async def test_a_displaced_file_that_a_program_changed_since_is_not_restored(work, driven, place):
    (work / "big").write_bytes(os.urandom(LARGE))
    run = driven("rm big; echo x > made")
    await run.run()
    (kept,) = (place / "runs").glob("layers/*/kept/*/*")
    with kept.open("r+b") as file:
        file.write(b"changed")
    event = undone(await take_back(run))
    assert event.files == ["made"] and not (work / "big").exists()
    assert event.kept == ["big: not undone: its content was changed after it was put aside"]


async def test_what_somebody_changed_since_is_named_and_the_rest_is_undone(work, driven):
    (work / "third.txt").write_text("three\n")
    run = driven("for name in kept gone third; do echo x >> $name.txt; done; mkdir new; echo 1 > new/1; echo 2 > new/2")
    await run.run()
    (work / "kept.txt").write_text("mine\n")
    (work / "gone.txt").unlink()
    (work / "new/mine").write_text("mine\n")
    event = undone(await take_back(run))
    assert event.files == ["new/1", "new/2", "third.txt"]
    assert [line.partition(": ")[0] for line in event.kept] == ["gone.txt", "kept.txt"]
    assert all("someone changed it since" in line for line in event.kept)
    assert (work / "kept.txt").read_text() == "mine\n" and not (work / "gone.txt").exists()
    assert [path.name for path in (work / "new").iterdir()] == ["mine"]


async def test_an_edit_a_command_and_an_edit_of_one_file_are_one_way_back(work, driven):
    run = driven(
        call("read_file", path="kept.txt"),
        edit("kept.txt", "one", "1"),
        "sed -i s/1/2/ kept.txt; echo x > made",
        call("read_file", path="kept.txt"),
        edit("kept.txt", "2", "3"),
        call("write_file", path="in/new.txt", content="n\n"),
    )
    before = tree(work)
    await run.run()
    assert (work / "kept.txt").read_text() == "3\n", run.story()
    event = undone(await take_back(run, Undo(step=1)))
    assert (event.changes, event.kept) == (4, []) and event.files == ["in/new.txt", "kept.txt", "made"]
    assert tree(work) == before
    assert refusals(await take_back(run)) == ["all changes are undone already"]


async def test_work_of_somebody_between_two_changes_stops_the_way_back_there(work, driven):
    run = driven("echo 1 > kept.txt; echo 1 > made", "sleep 2.0552", "echo 3 >> kept.txt")

    async def user():
        await begun("2.0552")
        (work / "kept.txt").write_text("mine\n")

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run()
    assert (work / "kept.txt").read_text() == "mine\n3\n"
    event = undone(await take_back(run, Undo(changes=9)))
    assert (work / "kept.txt").read_text() == "mine\n" and not (work / "made").exists()
    assert event.kept == ["kept.txt: someone changed it after step 1"]


async def test_one_file_of_a_command_is_undone_alone_and_then_the_rest(work, driven):
    run = driven("echo x >> kept.txt; rm gone.txt; mkdir new; echo 1 > new/1")
    await run.run()
    event = undone(await take_back(run, Undo(path="new/1")))
    assert event.files == ["new/1"] and not (work / "new").exists()
    (work / "new").mkdir()
    (work / "new/1").write_text("mine\n")
    event = undone(await take_back(run))
    assert event.files == ["gone.txt", "kept.txt"] and event.kept == [], "the file that was undone is the user's now"
    assert (work / "new/1").read_text() == "mine\n"


async def test_commits_the_index_and_the_stash_come_back(repository, driven):
    work = repository
    (work / "staged.txt").write_text("mine\n")
    git(work, "add", "staged.txt")
    before, files = repository_state(work), texts(work)
    run = driven(
        "echo more >> kept.txt && git commit -q -m work kept.txt && git tag v1 && git branch side",
        "echo two >> gone.txt && git add gone.txt && git commit -q -m two gone.txt && git branch -D side",
        "echo three >> kept.txt && git stash push -q kept.txt",
    )
    await run.run()
    assert git(work, "log", "--format=%s", "main").split() == ["two", "work", "start"], run.heard()
    assert git(work, "stash", "list")
    event = undone(await take_back(run, Undo(step=1)))
    assert event.kept == [] and event.also and "refs/heads/main" in event.also[0]
    assert repository_state(work) == before and texts(work) == files
    git(work, "fsck", "--full", "--strict")


async def test_a_command_that_only_commits_is_undone(repository, driven):
    work = repository
    (work / "kept.txt").write_text("one\nmore\n")
    before = repository_state(work)
    run = driven("git commit -q -am work")
    await run.run()
    assert git(work, "log", "--format=%s").split() == ["work", "start"]
    event = undone(await take_back(run))
    assert repository_state(work) == before and event.files == [] and "git: " in event.also[0]
    assert (work / "kept.txt").read_text() == "one\nmore\n"


async def test_git_is_undone_whole_or_not_at_all_and_files_are(repository, driven):
    work = repository
    run = driven("echo more >> kept.txt && git commit -q -am work && git tag v1")
    await run.run()
    git(work, "commit", "-q", "--allow-empty", "-m", "mine")
    before = repository_state(work)
    event = undone(await take_back(run))
    assert repository_state(work) == before
    assert event.files == ["kept.txt"] and (work / "kept.txt").read_text() == "one\n"
    assert len(event.kept) == 1 and event.kept[0].startswith("git: ") and "refs/heads/main" in event.kept[0]


async def test_a_merge_that_a_command_began_is_undone(repository, driven):
    work = repository
    git(work, "checkout", "-q", "-b", "side")
    (work / "kept.txt").write_text("side\n")
    git(work, "commit", "-q", "-am", "side")
    git(work, "checkout", "-q", "main")
    (work / "kept.txt").write_text("main\n")
    git(work, "commit", "-q", "-am", "main")
    before = repository_state(work)
    run = driven("git merge side; true")
    await run.run()
    assert (work / ".git/MERGE_HEAD").exists() and "<<<<" in (work / "kept.txt").read_text()
    event = undone(await take_back(run))
    assert event.kept == [] and not (work / ".git/MERGE_HEAD").exists()
    assert repository_state(work) == before and (work / "kept.txt").read_text() == "main\n"


async def test_an_install_is_undone_but_for_what_somebody_changed(repository, driven):
    work = repository
    (work / "package.json").write_text("{}\n")
    (work / ".gitignore").write_text("node_modules\n")
    old = work / "node_modules/old"
    old.mkdir(parents=True)
    (old / "index.js").write_text("1\n")
    (old / "gone.js").write_text("gone\n")
    run = driven(
        "mkdir -p node_modules/new && for n in 1 2 3; do echo $n > node_modules/new/$n.js; done;"
        " echo 2 > node_modules/old/index.js; rm node_modules/old/gone.js"
    )
    run.on("proposal_opened", decide("approve"), danger=True)
    await run.run(watched=True)
    assert (old / "index.js").read_text() == "2\n", run.heard()
    (work / "node_modules/new/2.js").write_text("mine\n")
    event = undone(await take_back(run))
    assert [line.partition(": ")[0] for line in event.kept] == ["node_modules/new/2.js"]
    assert any("node_modules" in words for words in event.also)
    assert [path.name for path in (work / "node_modules/new").iterdir()] == ["2.js"]
    assert (old / "index.js").read_text() == "1\n" and (old / "gone.js").read_text() == "gone\n"


async def test_what_a_program_built_stays(repository, driven):
    work = repository
    (work / "Cargo.toml").write_text("")
    (work / ".gitignore").write_text("target\n")
    run = driven("mkdir target; echo built > target/x; echo x >> kept.txt")
    await run.run()
    assert (work / "target/x").exists(), run.heard()
    view = Journal.open(run.path)
    (change,) = standing_changes(view).standing
    view.close()
    assert change.effects is not None and change.effects.built and not change.effects.also
    event = undone(await take_back(run))
    assert event.files == ["kept.txt"] and (work / "target/x").exists()


@pytest.mark.parametrize("is_stored", [True, False])
async def test_an_undo_that_was_killed_is_finished_at_resume_and_recorded_once(work, driven, place, is_stored):
    run = driven("echo 1 > kept.txt; rm gone.txt; echo 3 > made", finish("ok", "kept.txt:1"))
    run.on("run_ended", Undo()).on("undone", Stop())
    await run.run(watched=True, linger=True)
    before = {"gone.txt": "two\n", "kept.txt": "one\n"}
    assert texts(work) == before, run.story()
    assert undone(run.stamped).files == ["gone.txt", "kept.txt", "made"]
    killed = run.killed_at("undo_accepted")
    (work / "kept.txt").write_text("1\n")
    (work / "gone.txt").unlink()
    (work / "made").write_text("3\n")
    (accepted,) = run.of("undo_accepted")
    if is_stored:  # else it was killed before that, and nothing of it is in the workspace
        journal = Journal.open(run.path)
        rows = decode_rows(journal.blobs.load(accepted["rows"]))
        contents = {row.path: journal.blobs.load(row.after.digest) for row in rows if row.after}
        journal.close()
        (base,) = (place / "runs/layers").iterdir()
        Orders(base).give(accepted["order"], Order(workspace=work, rows=rows, contents=contents, is_undo=True))
    killed.model.turns, killed.model.requests[:] = [finish("ok", "kept.txt:1")], []
    await killed.run()
    (found,) = killed.of("undone")
    assert found["order"] == accepted["order"] and found["changes"] == int(is_stored)
    if not is_stored:
        assert "nothing was undone" in found["kept"][0] and (work / "made").exists()
        assert undone(await take_back(killed)).files == ["gone.txt", "kept.txt", "made"]
    assert texts(work) == before
    assert not list((place / "runs").glob("layers/*/orders/*"))


CUT = """
import asyncio, sys
from pathlib import Path
from rundry.agent.run.commands.undo_after_end import handle_after_end
asyncio.run(handle_after_end(Path(sys.argv[1])))
"""


async def test_an_undo_that_is_cut_anywhere_is_finished_by_the_next_process(work, driven, place):
    (work / "big").write_bytes(os.urandom(LARGE))
    before = tree(work)
    run = driven("echo 1 > kept.txt; rm gone.txt big; mkdir in; echo 3 > in/made")
    await run.run()
    put_undo(run.path)
    after, stored, reached = place / "after", place / "stored", set()
    shutil.copytree(work, after)
    shutil.copytree(place / "runs", stored)
    argv = [sys.executable, "-c", CUT, str(run.path)]
    for at in range(1, 2_000, 9):
        for folder, source in ((work, after), (place / "runs", stored)):
            shutil.rmtree(folder)
            shutil.copytree(source, folder)
        env = {**os.environ, "RUNDRY_CRASH_AT": str(at)}
        done = await asyncio.to_thread(subprocess.run, argv, env=env, check=False, capture_output=True)
        if done.returncode == 0:
            break
        is_begun = any(isinstance(event, UndoAccepted) for event in events_of(run.path))
        reached.add(is_begun)
        if not is_begun:
            put_undo(run.path)
        again = await asyncio.to_thread(subprocess.run, argv, check=False, capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
        found = [event for event in events_of(run.path) if isinstance(event, Undone)]
        if not found[-1].changes:  # it was cut before its order was stored
            assert tree(work) == tree(after), at
            continue
        assert tree(work) == before and found[-1].kept == [], (at, found)
        assert sorted({name for event in found for name in event.files}) == ["big", "gone.txt", "in/made", "kept.txt"]
    assert reached == {True, False}


def put_undo(path):
    view = Journal.open(path)
    view.inbox.put(Undo())
    view.close()


def events_of(path):
    view = Journal.open(path)
    try:
        return [stamped.event for stamped in view.read()]
    finally:
        view.close()


async def test_a_rewind_takes_commands_back(work, driven):
    before = tree(work)
    run = driven("echo 1 > kept.txt; echo x > made", loop=LoopKind.CHAT)
    run.on("waiting", lambda event: Rewind(seq=run.of("step_started")[0]["seq"])).on("rewound", Stop())
    await run.run(watched=True)
    assert run.of("undone")[0]["files"] == ["kept.txt", "made"], run.story()
    assert tree(work) == before


async def test_the_model_reads_what_was_undone(work, driven):
    run = driven("echo 1 > kept.txt; mkdir only", loop=LoopKind.CHAT)
    run.on("waiting", Undo()).on("undone", Stop())
    await run.run(watched=True)
    text = next(e["text"] for e in run.events if e["type"] == "prompted" and e["kind"] == "undo")
    assert "Restored: kept.txt." in text and "Undone, too: 1 folder: only." in text
    assert "Files that git ignores" not in text and (work / "kept.txt").read_text() == "one\n"
