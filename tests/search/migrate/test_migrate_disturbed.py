"""A migration that is killed, loses its model or meets a person."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest
from fakes.in_process.headless_run import resume_run, spec_of
from fakes.killing.killed import run_until
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, call, calls, edit
from search.migrate.fixer import CHECK, Fixer, texts

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    AddItem,
    FinderSpec,
    LoopKind,
    ModelFault,
    Recipe,
    WorkFinished,
)
from rundry.agent.state.facts.run_facts import fold


async def test_a_check_that_cannot_be_started_is_reported_and_nothing_was_changed(migrate, place):
    before = texts(place)
    run = migrate(check="no-such-program {file}")
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("refused", 2), run.story()
    assert "the check could not be started" in outcome.detail
    assert "no-such-program" in outcome.detail
    assert texts(place) == before


async def test_a_check_that_hangs_is_reported_as_timed_out(migrate, place):
    from rundry.agent.protocol import Predicates

    check = "grep -q new {file} || sleep 60"
    run = migrate(Fixer(lambda path, nth: call("read_file", path=path)), "a.txt", check=check, retries=0, item_steps=1)
    run = migrate(
        Fixer(lambda path, nth: call("read_file", path=path)),
        "a.txt",
        check=check,
        retries=0,
        item_steps=1,
        predicates=Predicates(timeout=0.3),
    )
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", False), run.story()
    assert "timed out after" in run.of("item_failed")[0]["error"]


async def test_a_model_that_is_permanently_gone_ends_the_run_and_no_item_fails_permanently(migrate, place):
    model = Fixer(lambda path, nth: ModelFault("auth", "the key was refused", retryable=False))
    run = migrate(model)
    outcome = await run.run()
    assert outcome.reason == "error", run.story()
    assert "the key was refused" in outcome.detail
    assert not run.of("item_failed")
    assert len(model.turns) == 1


def stubborn(server: ScriptedServer) -> None:
    """b.txt takes two steps, and the first one adds a line elsewhere: done twice without a roll-back, it shows."""
    first = calls(
        Call("edit_file", {"path": "b.txt", "edits": [{"old_text": "old", "new_text": "old!"}]}),
        Call("edit_file", {"path": "made.txt", "edits": [{"old_text": "new\n", "new_text": "new\nx\n"}]}),
    )
    server.rules += [
        Rule(
            r"The file: b\.txt.*(has not passed yet|exactly as before).*(has not passed yet|exactly as before)",
            edit("b.txt", "old", "new"),
        ),
        Rule(r"The file: b\.txt", first),
        *(Rule(rf"The file: {name}\.txt", edit(f"{name}.txt", "old", "new")) for name in ("a", "c", "d", "e")),
    ]


@pytest.mark.long
async def test_a_run_that_is_killed_again_and_again_leaves_the_files_of_one_that_was_not(tmp_path, place):
    luck = random.Random(7)
    for name in ("d", "e"):
        (place / f"{name}.txt").write_text(f"{name}: old\n")
    (place / "made.txt").write_text("new\n")
    other = tmp_path / "other"
    shutil.copytree(place, other)
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=CHECK, globs=["*.txt"], concurrency=1, sceptics=0)
    with ScriptedServer() as server:
        stubborn(server)
        journals: list[Path] = []
        for folder in (place, other):
            spec = spec_of(server, folder, task="make it new", loop=LoopKind.UNTIL_DRY, finder=finder)
            journals.append(tmp_path / f"{folder.name}.db")
            Journal.create(journals[-1], spec).close()
        assert (await resume_run(journals[0])).result.reason == "dry"
        for _ in range(2):
            moment = luck.randrange(20, 50)
            assert await asyncio.to_thread(run_until, journals[1], moment) == "killed", moment
        assert (await resume_run(journals[1])).result.reason == "dry"
    assert texts(other) == texts(place)
    assert (texts(place)["b.txt"], texts(place)["made.txt"]) == ("b: new!\n", "new\nx\n")
    journal = Journal.open(journals[1])
    events = [stamped.event for stamped in journal.read()]
    fixed = [event.about for event in events if isinstance(event, WorkFinished) and event.kind == "item" and event.ok]
    assert len(fixed) == len(set(fixed)) == 5, "what was done is not worked twice"
    assert fold(journal.spec, journal.read()).finder.done == 5
    journal.close()


async def test_what_a_person_changed_meanwhile_is_worked_on_and_not_replaced(migrate, place):
    model = Fixer(lambda path, nth: edit(path, "old", "wrong" if nth == 1 else "new"))
    whole = migrate(model, "a.txt", item_steps=1, retries=0)
    await whole.run()
    killed = whole.killed_at("file_changed")
    (place / "a.txt").write_text("mine, old\n")
    killed.model = Fixer()
    outcome = await killed.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), killed.story()
    assert not killed.of("undone") and texts(place)["a.txt"] == "mine, new\n"


async def test_a_person_adds_a_file_and_takes_a_fix_back(migrate, place):
    (place / "more.md").write_text("old\n")
    run = migrate(Fixer(), "a.txt")
    run.on("step_finished", AddItem(kind="file", value="more.md"), AddItem(kind="url", value="http://x/"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry", run.story()
    assert (place / "more.md").read_text() == "new\n"
    assert [e["why"] for e in run.of("command_refused")] == ["this search works files"], run.story()
