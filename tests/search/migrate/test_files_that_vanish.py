"""An item that is not the file any more that it was has failed, whatever its check says about nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.turns import Turn, call, edit
from search.migrate.fixer import Fixer

PASSES_WITHOUT = "test ! -e {file} || grep -q new {file}"
"""Passes for a file that does not exist, like many linters."""

TRICKS = {
    "deleted": ("rm a.txt", "the file is gone"),
    "moved": ("mv a.txt a.old", "the file is gone"),
    "a link to a passing file": ("ln -sf done.txt a.txt", "a link now"),
    "a dead link": ("rm a.txt; ln -s nowhere a.txt", "a link now"),
    "a folder": ("rm a.txt; mkdir a.txt; echo new > a.txt/x", ""),
    "a pipe": ("rm a.txt; mkfifo a.txt", "not a file any more"),
}


@pytest.mark.parametrize("trick", TRICKS)
async def test_an_item_that_does_not_exist_as_a_file_any_more_has_failed(migrate, place, trick):
    command, why = TRICKS[trick]
    check = "if test -f {file}; then grep -q new {file}; else true; fi"
    run = migrate(
        Fixer(lambda path, nth: call("run_command", command=command)), "a.txt", check=check, retries=0, item_steps=2
    )
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    assert outcome.failed_items == [str(place / "a.txt")]
    assert why in run.of("item_failed")[-1]["error"]
    assert (place / "a.txt").read_text() == "a: old\n", "what only made it vanish is not applied"


async def test_a_model_that_deleted_its_file_reads_why_that_does_not_pass_and_can_mend_it(migrate, place):
    def fix(path: str, nth: int) -> Turn:
        return call("run_command", command="rm a.txt" if nth == 1 else "echo new > a.txt")

    model = Fixer(fix)
    run = migrate(model, "a.txt", check=PASSES_WITHOUT)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert "the file is gone" in model.requests[1].messages[-1].text


async def test_a_done_file_that_the_fix_of_another_one_deletes_has_failed(migrate, place):
    def fix(path: str, nth: int) -> Turn:
        return (
            edit(path, "old", "new") if path == "a.txt" else call("run_command", command="rm a.txt; echo new > b.txt")
        )

    run = migrate(Fixer(fix), "a.txt", "b.txt", check=PASSES_WITHOUT)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", False), run.story()
    assert outcome.failed_items == [str(place / "a.txt")]
    assert [Path(e["key"]).name for e in run.of("item_failed")] == ["a.txt"]
