"""The end of a judged run on the screen: its grade in words, what the check opened, and what nobody decided on."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest
from fakes.played_events import started
from fakes.screens import Stage
from fakes.views.gate_stage import GateStage
from fakes.views.judged_ends import BEFORE, ENDS, JUDGED, JUDGING, RED, VOID
from painted import shows, until

from rundry.agent.layers.layer_effects import Side
from rundry.agent.state.facts.decided_files import encode_decided

SHOWN = {
    "judged": [
        "✓ done",
        "judged passed again in a clean place, and no change is undecided evidence 34 tests",
        "planted tests failed",
        "u undo d changed files",
    ],
    "undecided": [
        "✓ done",
        "judged passed also without the 3 changes that nobody decided on evidence 34 tests",
        "undecided 3 changes, not needed for the result: build/report.xml, notes.md, tests/test_money.py",
        "commit or restore what is undecided",
    ],
    "rests": [
        "✗ hand-off",
        "it passes only with changes that nobody decided on: tests/test_money.py",
        "--scope tests/test_money.py",
        "undecided 3 changes; the result needs tests/test_money.py",
        "/resume shows these changes as a diff",
    ],
    "in-place": ["✓ done", "not judged passed in the workspace, and not tried without undecided changes"],
    "suspect": ["✗ hand-off", "suspect: `pytest -q`: 3 planted tests did not fail"],
    "void": ["✗ void", "2 changes were undone since; it was done"],
}


@pytest.mark.parametrize("name", ENDS)
async def test_the_end_says_in_words_what_was_proved(name: str):
    stage = Stage()
    async with stage.app.run_test(size=(120, 40)) as pilot:
        stage.play(started(), *BEFORE, ENDS[name])
        if name == "void":
            stage.play(VOID)
        text = (await shows(pilot, "⏎ next task")).rsplit(SHOWN[name][0], 1)[-1]
        words = " ".join(f"{SHOWN[name][0]}{text}".split())
        for expected in SHOWN[name]:
            assert expected in words, words
        assert ("opened 41 files, 2 changed by this run (shop/money.py, shop/cart.py)" in words) == (
            name in ("judged", "undecided", "suspect")
        )


@pytest.mark.parametrize("name", ENDS)
async def test_a_small_screen_has_the_result_first_and_all_keys(name: str):
    stage = Stage()
    async with stage.app.run_test(size=(60, 20)) as pilot:
        stage.play(started(), *BEFORE, ENDS[name])
        text = await shows(pilot, "⏎ next task")
        word = "✓ done" if ENDS[name].complete else "✗ hand-off"
        assert word in text and all(len(line) <= 60 for line in text.splitlines())


async def test_while_a_result_is_judged_the_header_says_so_and_the_transcript_has_one_line():
    stage = Stage()
    async with stage.app.run_test(size=(120, 40)) as pilot:
        stage.play(started(), *BEFORE, JUDGING)
        await shows(pilot, "once more without 3 undecided changes: pytest -q")
        await until(pilot, lambda: stage.text().splitlines()[0].rstrip().endswith("judging"))
        stage.play(JUDGED)

        def lines() -> list[str]:
            return [line for line in stage.text().splitlines() if "once more without" in line]

        await until(pilot, lambda: "✓ passed" in lines()[0] and "judging" not in stage.text())
        assert len(lines()) == 1 and "4.1s" in lines()[0]
        stage.play(JUDGING, RED)
        await shows(pilot, "✗ needs undecided changes")


async def test_the_end_is_void_when_a_judged_file_has_changed_since(tmp_path: Path):
    stage = GateStage(tmp_path)
    judged = tmp_path / "calc.py"
    judged.write_text("1\n")
    side = Side(type="file", digest=hashlib.sha256(b"1\n").hexdigest(), size=2)
    blob = stage.journal.blobs.keep(encode_decided({"calc.py": side}))
    end = ENDS["judged"]
    assert end.evidence is not None
    evidence = msgspec.structs.replace(end.evidence, decided_files=blob)
    stage.play(started(workspace=str(tmp_path)), *BEFORE, msgspec.structs.replace(end, evidence=evidence))
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "✓ done")
        await until(pilot, lambda: stage.screen.focused is not None and stage.screen.focused.id == "ended")
        judged.write_text("2\n")
        await pilot.press("enter", "f2")
        text = await shows(pilot, "✗ void")
        assert "calc.py was changed since; it was done" in " ".join(text.split())
        judged.write_text("1\n")
        await pilot.press("enter", "f2")
        await until(pilot, lambda: "✗ void" not in stage.text())
