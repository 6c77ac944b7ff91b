"""The model's last lines above a proposal that takes the whole height."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.gate_stage import GateStage
from painted import until

from rundry.agent import Said, StepStarted, TextArrived, ToolCalled
from rundry.tui.gate.model_words import last_rows

CALLED = ToolCalled(call_id="c1", tool="run_command", arguments={"command": "make"})
SAID = "First I build it.\n\nThe build must be clean, because the old objects are of another version."


@pytest.mark.parametrize(
    ("text", "limit", "rows"),
    [
        ("", 3, []),
        ("one", 1, ["one"]),
        ("one\n\ntwo\n", 1, ["two"]),
        ("one\n\ntwo\n\nthree\n\nfour", 3, ["two", "three", "four"]),
        ("a line of which some does not fit\nlast", 2, ["last"]),
        ("a line of which some does not fit\nlast", 3, ["a line of which some", "does not fit", "last"]),
        ("gone\na line of which some does not fit at all", 2, ["a line of which some", "does not fit at all"]),
        ("gone\na line of which some does not fit at all", 1, ["a line of which som…"]),
        ("## See **it**:\n```\ncode\n```\n| a |\n| --- |\n", 3, ["See it:", "code"]),
        ("a" * 50, 3, ["a" * 20, "a" * 20, "a" * 10]),
    ],
)
def test_whole_lines_from_the_end_are_shown_and_of_a_longer_one_its_start(text: str, limit: int, rows: list[str]):
    assert last_rows(text, 20, limit) == rows


def words(stage: Stage) -> list[str]:
    lines = stage.text().splitlines()
    end = next(at for at, line in enumerate(lines) if line.startswith("▌"))
    return [line.strip() for line in lines[3:end] if line.strip()]


@pytest.mark.parametrize(("size", "shown"), [((80, 24), 1), ((80, 40), 2)])
async def test_they_stand_above_a_long_proposal_until_it_leaves_the_transcript_visible(
    tmp_path: Path, size: tuple[int, int], shown: int
):
    stage = GateStage(tmp_path)
    waits = proposal(command="\n".join(f"echo {n}" for n in range(60)), lines=60, call_id="c1")
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), StepStarted(number=1), TextArrived(text=SAID), CALLED, waits)
        await until(pilot, lambda: not stage.screen.transcript.display and len(words(stage)) == shown)
        assert "The build must be clean" in "".join(words(stage))
        await press(pilot, "f")
        await until(pilot, lambda: stage.screen.transcript.display)
        await until(pilot, lambda: "run echo 0" in stage.text())
        assert stage.text().count("The build must be clean") <= 1
        assert "echo 0" in words(stage)[-1]
    stage.journal.close()


async def test_words_from_before_a_message_of_the_person_do_not_explain_a_proposal(tmp_path: Path):
    stage = GateStage(tmp_path)
    waits = proposal(command="\n".join(f"echo {n}" for n in range(60)), lines=60, call_id="c1")
    async with stage.app.run_test(size=(80, 24)) as pilot:
        told = (started(), StepStarted(number=1), TextArrived(text=SAID), Said(text="no, go on", kind="say"))
        await stage.opened(pilot, *told, CALLED, waits)
        await until(pilot, lambda: not stage.screen.transcript.display and words(stage) == [])
    stage.journal.close()
