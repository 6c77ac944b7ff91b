"""The id of the files that a run changed: equal ids are equal files, and what others change is not part of it."""

import pytest
from fakes.turns import edit

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.journal.journal import Journal
from rundry.agent.step.resources.run_world import RunWorld


@pytest.fixture
def work(place):
    return place / "work"


async def test_it_tells_what_each_file_of_the_run_is_now(work, driven):
    run = driven(edit("kept.txt", "one", "ONE"), "mkdir d; echo x > d/made; chmod +x gone.txt; ln -s kept.txt link")
    await run.run()
    journal = Journal.open(run.path)
    world = RunWorld(journal, run.facts(), Workspace(work))
    first = await world.take()
    changes = {
        "an edit": lambda: (work / "kept.txt").write_text("other"),
        "a new file": lambda: (work / "d/made").write_text("y"),
        "a permission": lambda: (work / "gone.txt").chmod(0o644),
        "a link": lambda: (work / "link").unlink(),
    }
    seen = {first}
    for change in changes.values():
        change()
        seen.add(await world.take())
    assert len(seen) == 1 + len(changes)
    (work / "kept.txt").write_text("ONE\n")
    (work / "d/made").write_text("x\n")
    (work / "gone.txt").chmod(0o755)
    (work / "link").symlink_to("kept.txt")
    (work / "theirs").write_text("not of the run")
    assert await world.take() == first
    journal.close()


async def test_files_as_they_were_before_the_run_are_the_same_as_none(work, driven):
    run = driven("echo more >> kept.txt; rm gone.txt; mkdir d; echo x > d/made")
    nothing = driven()
    await run.run()
    await nothing.run()
    (work / "kept.txt").write_text("one\n")
    (work / "gone.txt").write_text("two\n")
    (work / "d/made").unlink()
    ids = set()
    for one in (run, nothing):
        journal = Journal.open(one.path)
        ids.add(await RunWorld(journal, one.facts(), Workspace(work)).take())
        journal.close()
    assert len(ids) == 1


async def test_what_is_ignored_counts_only_where_it_was_shown(work, driven, repository):
    (work / ".gitignore").write_text("*.log\n")
    run = driven("echo 1 > a.log; echo 1 > made")
    await run.run()
    journal = Journal.open(run.path)
    world = RunWorld(journal, run.facts(), Workspace(work))
    first = await world.take()
    (work / "a.log").write_text("2")
    assert await world.take() == first
    journal.close()
