"""The keys of the config in lists, dialogs and pages: they work, the defaults do not, and the screen shows them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from fakes.played_events import proposal, spec, started
from fakes.pressing import press
from fakes.providers.surveys import FOUND
from fakes.screens import PlayedStart, Stage
from fakes.views.board_screen import SIZE, three
from painted import painted, shows, until

from rundry.agent import Decide, HandoffOpened, HandoffRecord, Journal, Paused, StepStarted, TextArrived
from rundry.tui.app.app import RundryApp
from rundry.tui.keys.action import Action
from rundry.tui.keys.action_places import PLACES
from rundry.tui.keys.keymap import Keymap
from rundry.tui.keys.lookup import ACTIONS
from rundry.tui.pages.handoff_page import HandoffPage
from rundry.tui.pages.replay.player import Player
from rundry.tui.pages.replay.replay_page import ReplayScreen
from rundry.tui.pages.replay.timeline import Timeline
from rundry.tui.start.remaps import check_keys

RUN = (started(), StepStarted(number=1), TextArrived(text="Now the parser."))
ELSEWHERE = [action for action in ACTIONS if action.where != "main"]


class Offering(PlayedStart):
    found = FOUND


def remapped(stage: Stage, **keys: str) -> Stage:
    good, wrong = check_keys(keys)
    assert wrong == []
    stage.app = RundryApp(stage.controller, keys=good)
    return stage


@pytest.mark.parametrize("action", ELSEWHERE, ids=lambda each: each.name)
def test_every_action_of_a_part_of_the_screen_can_have_another_key(action: Action):
    good, wrong = check_keys({action.name: "f13"})
    assert (good, wrong) == ({action.name: "f13"}, [])
    assert Keymap(good).action_of("f13", action.where) == action.name
    if action.keys:
        assert Keymap(good).action_of(action.keys.split(",")[0], action.where) != action.name


def test_the_defaults_have_no_conflict_with_each_other():
    for place in PLACES:
        keys = [key for action in ACTIONS if action.where == place for key in action.keys.split(",") if key]
        assert len(keys) == len(set(keys)), place


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"session_fork": "f2"}, "also the key of session_watch, in the sessions"),
        ({"session_fork": "down"}, "also the key of mark_down, in a list"),
        ({"replay_play": "q"}, "also the key of replay_leave, in a replay"),
        ({"handoff_copy": "r"}, "also the key of handoff_resume"),
        ({"handoff_copy": "escape"}, "also the key of close_dialog, in a dialog"),
        ({"view_1": "m"}, "also the key of merge, on the board"),
        ({"session_watch": "ctrl+z"}, "also the key of suspend"),
        ({"session_watch": "w"}, "is typed into the message"),
    ],
)
def test_keys_that_meet_in_one_part_are_reported(keys: dict[str, str], words: str):
    assert any(words in str(each) for each in check_keys(keys)[1])


@pytest.mark.parametrize("keys", [{"session_fork": "f4"}, {"undo_file": "r"}, {"replay_play": "p"}, {"view_1": "q"}])
def test_a_key_of_another_part_does_not_conflict(keys: dict[str, str]):
    assert check_keys(keys)[1] == []


async def test_the_list_of_sessions_takes_and_shows_the_keys_of_the_config(tmp_path: Path):
    for name in ("20261121-014233-aaaaa", "20261121-014234-bbbbb"):
        asked = msgspec.structs.replace(spec("look"), run_id=name, workspace=str(tmp_path))
        Journal.create(tmp_path / f"{name}.db", asked).close()
    keys = {"session_watch": "ctrl+w", "mark_down": "ctrl+n", "close_dialog": "ctrl+y", "session_folders": "f13"}
    stage = remapped(Stage(start=Offering(tmp_path)), **keys)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f3")
        text = await shows(pilot, "^w watch")
        assert "F13 all folders" in text and "F2" not in text
        await pilot.press("f2", "escape", "down")
        assert stage.app.screen is not stage.screen
        await pilot.press("ctrl+y")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        await pilot.press("f3")
        await shows(pilot, "20261121-014234-bbbbb")
        await pilot.press("ctrl+n")
        await shows(pilot, "20261121-014233-aaaaa")
        await pilot.press("ctrl+w")
        await until(pilot, lambda: stage.app.return_value is not None)
    assert stage.app.return_value is not None
    assert stage.app.return_value.next == "watch 20261121-014233-aaaaa"


async def test_the_list_of_models_takes_and_shows_the_keys_of_the_config(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = remapped(Stage(start=start), take="ctrl+y", close_dialog="f13")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("f7")
        await shows(pilot, "F13 back")
        await pilot.press(*"sonnet")
        await until(pilot, lambda: "claude-old" not in stage.text())
        await pilot.press("ctrl+y")
        await until(pilot, lambda: start.remembered == ["anthropic/claude-sonnet-5"])


async def test_suggestions_take_the_keys_of_the_config():
    stage = remapped(Stage(), suggestion_take="ctrl+y", suggestion_close="f13")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press(*"/the", "tab")
        assert stage.screen.message.box.text == "/the"
        await pilot.press("ctrl+y")
        assert stage.screen.message.box.text.startswith("/theme")


async def test_the_replay_takes_and_shows_the_keys_of_the_config(tmp_path: Path):
    stage = remapped(Stage(), replay_leave="ctrl+y", replay_speed_1="f13", replay_play="p")
    journal = Journal.create(tmp_path / "run.db", spec("look"))
    for event in RUN:
        journal.append(event)
    async with stage.app.run_test(size=(120, 30)) as pilot:
        player = Player(Timeline(journal), 4)
        stage.app.push_screen(ReplayScreen(player, {}))
        text = await shows(pilot, "p play, pause")
        assert "F13 2 3 4 speed" in text and "^y leave" in text
        await pilot.press("escape", "q", "1")
        assert player.speed == 4
        await pilot.press("f13")
        await until(pilot, lambda: player.speed == 1)
        assert isinstance(stage.app.screen, ReplayScreen)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: stage.app.screen is stage.screen)
    journal.close()


async def test_the_page_of_a_hand_off_takes_and_shows_the_keys_of_the_config():
    stage = remapped(Stage(), handoff_copy="c", close_dialog="x", handoff_resume="")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN, HandoffOpened(reason="r", suggested_action="s", record=HandoffRecord(task="t")))
        await stage.caught_up(pilot)
        await pilot.press("alt+h")
        text = await shows(pilot, "c copy as Markdown")
        assert "x back" in text and "resume with hint" not in text
        await pilot.press("escape", "r", "y")
        assert isinstance(stage.app.screen, HandoffPage)
        await pilot.press("c")
        await shows(pilot, "copied as Markdown")
        await pilot.press("x")
        await until(pilot, lambda: stage.app.screen is stage.screen)


async def test_the_question_before_leaving_takes_and_shows_the_keys_of_the_config():
    stage = remapped(Stage(), quit="ctrl+y", stop_now="x", close_dialog="f13")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "^y quit")
        await pilot.press("ctrl+q")
        assert stage.app.screen is stage.screen
        await pilot.press("ctrl+y")
        text = await shows(pilot, "What should happen to it?")
        assert "x   stop now and leave" in text and "F13   stay" in text
        await pilot.press("s", "escape")
        await shows(pilot, "What should happen to it?")
        await pilot.press("x")
        await until(pilot, lambda: stage.app.return_value is not None)
    assert stage.app.return_value is not None
    assert stage.app.return_value.stop == "now"


async def test_an_action_without_keys_has_none():
    stage = remapped(Stage(), pause="", palette="")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("f4", "ctrl+p")
        assert (stage.link.commands, stage.app.screen) == ([], stage.screen)


async def test_the_board_moves_by_the_keys_of_the_config_and_shows_them():
    stage = three()
    remapped(stage, row_down="w", view_2="f13", pause="ctrl+y", row_up="e")
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        text = await shows(pilot, "F13 lenses")
        assert "1 findings" in text
        await press(pilot, "f2")
        first = stage.board.picked
        await press(pilot, "e")
        await until(pilot, lambda: stage.board.picked != first)
        await press(pilot, "w")
        await until(pilot, lambda: stage.board.picked == first)
        await press(pilot, "f13")
        await until(pilot, lambda: stage.board.view.tab == "lenses")
        stage.play(Paused())
        await shows(pilot, "press ^y to resume")


async def test_the_line_for_a_reason_takes_and_shows_the_keys_of_the_config():
    stage = remapped(Stage(), line_keep="ctrl+y", line_drop="f13", approve="z")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), proposal())
        await shows(pilot, "z approve")
        await press(pilot, "tab")
        await shows(pilot, "^y keep as the reason")
        assert "F13 go back" in stage.text()
        await press(pilot, "n", "o", "ctrl+y")
        await shows(pilot, 'reason: "no"')
        await press(pilot, "z")
        await until(pilot, lambda: any(isinstance(each, Decide) for each in stage.link.commands))


@pytest.mark.parametrize(("columns", "rows"), [(60, 20), (80, 24), (120, 40)])
async def test_the_help_shows_every_key_and_command_on_every_screen(columns: int, rows: int):
    stage = Stage()
    async with stage.app.run_test(size=(columns, rows)) as pilot:
        await pilot.press("f1")
        await shows(pilot, "close")
        seen, before = "", ""
        while (now := painted(stage.app)) != before:
            seen, before = seen + now, now
            await press(pilot, "pagedown")
            await pilot.pause()
    missing = [action.name for action in ACTIONS if action.typed and f"/{action.slash}" not in seen]
    assert missing == []
    assert [action.name for action in ACTIONS if action.label not in seen] == []
