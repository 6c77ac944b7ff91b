"""Several files in one answer of the model: stepped through, and approved together (docs/requirements.md 6.3, 6.7)."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import OLD, GateStage
from painted import until

from rundry.agent import ProposalOpened

NAMES = ("pkg/a.py", "pkg/b.py", "pkg/c.py")


def answer(stage: GateStage, **of_second: object) -> list[ProposalOpened]:
    """Three files of one answer."""
    found: list[ProposalOpened] = []
    for number, path in enumerate(NAMES, 1):
        more = of_second if number == 2 else {}
        fields = {"path": path, "call_id": f"call_4_{number}", "digest": f"digest-{number}", "file": number, "files": 3}
        old = "x = 1\n"
        found.append(stage.edit(number, old=old, new=f"x = {number + 1}\n", **{**fields, **more}))
    return found


async def test_the_gate_says_which_file_of_the_answer_is_shown_and_steps_through_them(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), *answer(stage))
        assert "< 1 of 3 files in this answer >" in stage.text()
        assert "Y approve all 3" in stage.text()
        await press(pilot, ">")
        await until(pilot, lambda: "< 2 of 3 files in this answer >" in stage.text() and stage.takes_keys("digest-2"))
        await press(pilot, "y")
        await until(pilot, lambda: "< 3 of 3 files in this answer >" in stage.text() and stage.takes_keys("digest-3"))
        assert "Y approve all 2" in stage.text()


async def test_after_all_were_read_one_press_approves_all_that_are_left(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), *answer(stage))
        for number in (2, 3):
            await press(pilot, ">")
            await until(pilot, lambda n=number: stage.takes_keys(f"digest-{n}"))
        await press(pilot, "Y")
        assert [(c.proposal_id, c.verdict, c.digest) for c in stage.decided] == [
            (f"p{n}", "approve", f"digest-{n}") for n in (1, 2, 3)
        ]


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (120, 40)])
async def test_files_that_were_not_read_are_named_before_they_are_approved(stage: GateStage, size: tuple[int, int]):
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), *answer(stage))
        await press(pilot, "Y")
        await until(pilot, lambda: "Y again approves 3 files in pkg: a.py, b.py, c.py" in " ".join(stage.words()))
        unread = "none read to the end" if size == (40, 12) else "not read to the end: b.py, c.py"
        assert unread in " ".join(stage.words())
        assert stage.decided == []
        await press(pilot, "escape")
        await until(pilot, lambda: "Y again" not in stage.text())
        assert stage.decided == []
        await press(pilot, "Y")
        await until(pilot, lambda: "Y again approves" in stage.text())
        await press(pilot, "Y")
        assert [c.proposal_id for c in stage.decided] == ["p1", "p2", "p3"]


async def test_a_file_in_conflict_and_a_guarded_one_that_was_not_read_are_named_and_stay(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        first, second, third = answer(stage, danger=True)
        conflict = stage.rebased(3, old="x = 9\n", new="x = 4\n", conflict=True, why="your edit of 12:04:31")
        await stage.opened(pilot, started(), first)
        stage.play(second, third, conflict)
        await until(pilot, lambda: "Y approve all 3" in stage.text())
        await press(pilot, "Y")
        await until(pilot, lambda: "Y again approves 1 file in pkg: a.py" in stage.text())
        words = " ".join(stage.words())
        assert "pkg/b.py is guarded or protected and was not read, so it stays" in words
        assert "pkg/c.py is in conflict, so it stays" in words
        await press(pilot, "Y")
        assert [c.proposal_id for c in stage.decided] == ["p1"]


async def test_a_file_that_changes_after_the_question_is_asked_about_again(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), *answer(stage))
        await press(pilot, "Y")
        await until(pilot, lambda: "Y again approves" in stage.text())
        stage.play(stage.rebased(2, old="# new\nx = 1\n", new="# new\nx = 3\n"))
        await until(pilot, lambda: stage.controller.state.proposals["p2"].digest == "digest-r")
        await press(pilot, "Y")
        assert stage.decided == []
        await press(pilot, "Y")
        assert [(c.proposal_id, c.digest) for c in stage.decided] == [
            ("p1", "digest-1"),
            ("p2", "digest-r"),
            ("p3", "digest-3"),
        ]


async def test_what_was_skipped_in_a_file_stays_skipped_when_all_are_approved(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit(1, call_id="call_4_1", file=1, files=2), answer(stage)[1])
        await press(pilot, "space", "Y", "Y")
        assert [(c.verdict, c.hunks) for c in stage.decided] == [("part", [1, 2]), ("approve", None)]


async def test_a_single_file_is_not_approved_by_the_key_for_all(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=OLD.replace("f1", "g1")))
        assert "approve all" not in stage.text()
        await press(pilot, "Y")
        await until(pilot, lambda: "no other file of this answer waits" in stage.text())
        assert stage.decided == []
