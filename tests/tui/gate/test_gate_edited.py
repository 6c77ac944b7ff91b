"""Proposals that a person edits, and conflicts, on the screen."""

from __future__ import annotations

from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import NEW, OLD, GateStage
from painted import shows, until

from rundry.tui.gate.inline_editor import GateEditor

SIZE = (120, 40)


async def test_the_new_text_is_edited_in_place_and_y_approves_the_persons_version(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "e")
        await shows(pilot, "keep your version")
        assert "return 'one'" in stage.text()
        await press(pilot, "y", "n", "A", "space", "ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        assert stage.decided == [], "what is typed into a text decides nothing"
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.digest) == ("approve", "digest-1")
        assert command.text == NEW.replace("    return 'one'\n", "ynA     return 'one'\n")


async def test_hunks_of_an_edited_text_can_be_skipped_and_the_resulting_text_is_sent(stage: GateStage):
    edited = OLD.replace("return 1\n", "return 1.0\n").replace("return 8\n", "return 8.0\n")
    async with stage.app.run_test(size=SIZE) as pilot:
        edit = stage.edit()
        await stage.opened(pilot, started(), edit)
        stage.screen.gate.edit.show(edit, edited)
        await until(pilot, lambda: "1.0" in stage.text() and stage.takes_keys())
        assert "◉ accepted 2" in stage.text()
        await press(pilot, "space", "y")
        (command,) = stage.decided
        assert (command.verdict, command.text) == ("approve", OLD.replace("return 8\n", "return 8.0\n"))


async def test_escape_in_the_editor_asks_before_it_drops_a_change_and_only_then(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "E", "escape")
        await until(pilot, lambda: stage.screen.gate.has_focus and stage.takes_keys())
        await press(pilot, "E", "x", "escape")
        await shows(pilot, "esc again")
        await press(pilot, "x", "escape")
        await pilot.pause()
        assert stage.screen.gate.editing is not None, "a key in between: it asks anew"
        await press(pilot, "escape")
        await until(pilot, lambda: stage.takes_keys())
        await press(pilot, "y")
        assert [c.text for c in stage.decided] == [None]


async def test_hidden_signs_in_the_editor_are_drawn_as_signs_and_kept_as_they_are(stage: GateStage):
    hostile = "a = '\x1b[2J\u202e\u200b'\n\tb = 1\n"
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old="a = 1\n", new=hostile))
        await press(pilot, "E")
        await shows(pilot, "keep your version")
        assert not {"\x1b", "\u202e", "\u200b"} & set(stage.text())
        await press(pilot, "x", "ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await press(pilot, "y")
        assert [c.text for c in stage.decided] == ["x" + hostile]


async def test_a_conflict_refuses_y_and_offers_its_ways_out(stage: GateStage):
    theirs = OLD.replace("return 1\n", "return 'mine'\n")
    both = "<<<<<<< yours\n    return 'mine'\n=======\n    return 'one'\n>>>>>>> model\n"
    merged = theirs.replace("    return 'mine'\n", both)
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space")
        conflict = stage.rebased(old=theirs, conflict=True, merged=stage.journal.blobs.keep(merged.encode()))
        await stage.opened(pilot, conflict)
        text = stage.text()
        assert "conflict with your edit of 12:04:31" in text
        for way in ("r ask the model again", "m keep mine", "e merge by hand", "n reject"):
            assert way in text
        assert "y approve" not in text
        assert "<<<<<<<" in text
        await press(pilot, "y")
        assert "conflict with the file" in stage.text()
        await press(pilot, "m")
        assert [(c.verdict, c.digest) for c in stage.decided] == [("mine", "digest-r")]


async def test_a_conflict_is_given_back_to_the_model_with_words(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(), stage.rebased(conflict=True))
        await press(pilot, "tab", *"look", "enter", "r")
        assert [(c.verdict, c.reason) for c in stage.decided] == [("again", "look")]


async def test_a_conflict_is_settled_by_hand_from_both_versions(stage: GateStage):
    merged = stage.journal.blobs.keep(b"<<<<<<< yours\na\n=======\nb\n>>>>>>> model\n")
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(
            pilot, started(), stage.edit(), stage.rebased(old="a\n", new="b\n", conflict=True, merged=merged)
        )
        await press(pilot, "e")
        await shows(pilot, "keep your version")
        await press(pilot, "x", "ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await press(pilot, "y")
        assert stage.decided == []
        assert "conflict marks" in stage.text()
        await press(pilot, "e")
        stage.screen.query_one(GateEditor).text = "ab\n"
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "conflict marks" not in stage.text() and stage.takes_keys())
        await press(pilot, "y")
        assert [(c.verdict, c.text) for c in stage.decided] == [("approve", "ab\n")]


async def test_a_version_that_the_file_outran_is_edited_next_to_the_file_as_it_is_now(stage: GateStage):
    merged = stage.journal.blobs.keep(b"<<<<<<< yours\na\n=======\nb\n>>>>>>> model\n")
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old="one\n", new="two\n"))
        await press(pilot, "E", "x", "ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await stage.opened(pilot, stage.rebased(old="a\n", new="b\n", conflict=True, merged=merged))
        assert "press e to edit it again" in stage.text()
        await press(pilot, "E")
        await shows(pilot, "keep your version")
        assert "<<<<<<< on disk a ||||||| before one ======= xtwo >>>>>>> proposed" in " ".join(
            word for word in stage.words() if not word.isdecimal()
        )
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await press(pilot, "y")
        await until(pilot, lambda: "still has conflict marks" in stage.text())
        assert stage.decided == []
        stage.screen.gate.edit.show(stage.controller.state.proposals["p1"], "a xtwo\n")
        await until(pilot, lambda: "a xtwo" in stage.text() and stage.takes_keys())
        await press(pilot, "y")
        assert [(c.verdict, c.text) for c in stage.decided] == [("approve", "a xtwo\n")]


async def test_a_version_whose_file_was_deleted_is_not_offered_for_an_edit(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old="one\n", new="two\n"))
        await press(pilot, "E", "x", "ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await stage.opened(pilot, stage.rebased(old="a\n", new="b\n", conflict=True))
        assert "the file of your version is gone" in stage.text()
        assert "press e to edit it again" not in stage.text()
