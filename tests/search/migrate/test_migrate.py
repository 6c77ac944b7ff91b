"""migrate: every file that fails a check is brought through it, and a full scan has the last word."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.turns import Turn, call, edit, say
from search.migrate.fixer import Fixer, done, texts

from rundry.agent.protocol import (
    Budget,
    GateMode,
)
from rundry.agent.run.client.start_request import ResumeChanges


async def test_each_failing_file_is_fixed_by_itself_and_a_full_scan_ends_it(migrate, place):
    model = Fixer()
    run = migrate(model)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", True, 0), run.story()
    assert set(texts(place).values()) == {"a: new\n", "b: new\n", "c: new\n", "new\n"}
    assert done(run) == ["a.txt", "b.txt", "c.txt"], "in the order of their paths"
    assert outcome.steps == 3
    scans = [(e["new"], e["known"], e["reason"]) for e in run.of("work_finished") if e["kind"] == "scan"]
    assert scans == [(3, 0, "4 files checked, 3 fail"), (0, 0, "4 files checked, 0 fail")]
    assert [(e["number"], e["new"]) for e in run.of("pass_finished")] == [(1, 3), (2, 0)]
    assert outcome.files_changed == ["a.txt", "b.txt", "c.txt"]
    for request in model.requests:
        assert len(request.messages) == 2, "each file has a conversation of its own"


async def test_where_nothing_fails_nothing_is_asked(migrate, place):
    model = Fixer()
    run = migrate(model, "done.txt")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 0), run.story()
    assert not model.requests
    assert "1 file checked, 0 fail" in outcome.detail


async def test_the_models_word_is_not_a_fix_and_the_check_is_what_it_hears(migrate, place):
    model = Fixer(lambda path, nth: say("It is fixed.") if nth == 1 else edit(path, "old", "new"))
    run = migrate(model, "a.txt", check="cat {file}; grep -q new {file}")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 2), run.story()
    assert "a: old" in model.requests[0].messages[-1].text
    assert "You stopped without calling a tool" in model.requests[1].messages[-1].text


async def test_a_file_that_cannot_be_fixed_is_tried_again_then_fails_permanently_and_is_named(migrate, place):
    model = Fixer(lambda path, nth: call("read_file", path=path) if path == "b.txt" else edit(path, "old", "new"))
    run = migrate(model, item_steps=2)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    assert outcome.failed_items == [str(place / "b.txt")]
    assert "1 item failed permanently (b.txt)" in outcome.detail
    assert model.turns.count("b.txt") == 4, "two attempts of two steps"
    assert [(e["attempts"], e["final"]) for e in run.of("item_failed")] == [(1, False), (2, True)]
    assert "after 2 steps the check still fails: exit code 1" in run.of("item_failed")[0]["error"]
    assert texts(place)["a.txt"] == "a: new\n"


async def test_a_file_that_fails_again_is_worked_again_at_most_n_times(migrate, place):
    """Each fix of a.txt breaks b.txt and the other way round: that never ends by itself."""

    def fix(path: str, nth: int) -> Turn:
        other = "b.txt" if path == "a.txt" else "a.txt"
        return call("run_command", command=f"echo new > {path}; echo old > {other}")

    run = migrate(Fixer(fix), "a.txt", "b.txt", retries=2)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", False), run.story()
    again = [(Path(e["key"]).name, e["reason"]) for e in run.of("item_queued") if e["reason"] == "regressed"]
    assert 2 <= len(again) <= 4
    assert max(again.count(one) for one in again) == 2
    assert "it fails again each time" in run.of("item_failed")[-1]["error"]
    assert len(outcome.failed_items) == 1


async def test_a_file_healed_by_another_ones_fix_costs_no_step(migrate, place):
    model = Fixer(lambda path, nth: call("run_command", command="sed -i s/old/new/ *.txt"))
    run = migrate(model)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 1), run.story()
    assert len(done(run)) == 3


async def test_the_budget_says_how_many_files_are_left_and_a_resumed_run_works_only_those(migrate, place):
    model = Fixer()
    run = migrate(model, budget=Budget(steps=1))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("budget", False, 3), run.story()
    assert "2 items left" in outcome.detail
    first = done(run)
    outcome = await run.run(changes=ResumeChanges(limits={"steps": 10}))
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert sorted(model.turns) == ["a.txt", "b.txt", "c.txt"], first


async def test_an_item_may_change_whatever_its_name_looks_like(migrate, place):
    (place / "test_one.txt").write_text("old\n")
    run = migrate(Fixer(), "test_*.*", gate=GateMode.AUTO)
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert texts(place)["test_one.txt"] == "new\n"


async def test_ignored_files_are_none_of_it_and_a_folder_names_what_is_in_it(migrate, place):
    (place / ".gitignore").write_text("build/\n")
    for folder in ("build", "src"):
        (place / folder).mkdir()
        (place / folder / "x.txt").write_text("old\n")
    run = migrate(None, "src", "build/*.txt", "*.txt")
    outcome = await run.run()
    assert outcome.reason == "refused", run.story()
    assert "no file matches build/*.txt" in outcome.detail
    run = migrate(None, "src")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 1), run.story()
    assert (place / "build" / "x.txt").read_text() == "old\n"


@pytest.mark.parametrize(
    "check",
    [
        "grep -q new {file}",
        "grep -q new",
        'grep -q new "{file}"',
        "grep -q new '{file}'",
        'cat "$(ls -d {file})" | grep -q new',
    ],
)
async def test_a_files_name_is_quoted_for_where_it_stands(migrate, place, check):
    odd = place / 'it\'s "an" $odd `one`.txt'
    odd.write_text("old\n")
    dashed = place / "-n.txt"
    dashed.write_text("old\n")
    model = Fixer(lambda path, nth: edit(path, "old", "new"))
    run = migrate(model, "*odd*", "-n.txt", check=check)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 2), run.story()
    assert odd.read_text() == dashed.read_text() == "new\n"
