from __future__ import annotations

from pathlib import Path

import pytest
from fakes.played_events import PlayedLink, Script, proposal, started
from fakes.screens import PlayedStart, Stage
from painted import shows, until

from rundry.agent import (
    Budget,
    CallAdmitted,
    Charged,
    CheckFinished,
    LoopKind,
    Reason,
    RunEnded,
    StepStarted,
    Stop,
    TextArrived,
    ViewState,
    Waiting,
    reduce_all,
)
from rundry.tui.app.app import RundryApp
from rundry.tui.app.main_screen import MainScreen
from rundry.tui.control.run_controller import RunController
from rundry.tui.head.header_title import arrange_title, model_name
from rundry.tui.head.meters import arrange, draw_bar, meters
from rundry.tui.keys.action_places import PLACES
from rundry.tui.keys.lookup import ACTIONS, BY_NAME, parse_slash, shown_key
from rundry.tui.start.remaps import check_keys

RUN = (
    started(),
    StepStarted(number=1),
    CallAdmitted(prompt_tokens=20_000, max_tokens=1, worst_usd=0),
    Charged(tokens_in=150_000, tokens_out=4_000, usd=0.46),
    CheckFinished(command="pytest -q", passed=False, exit_code=1, timed_out=False, failing=14, output=""),
    CheckFinished(command="pytest -q", passed=False, exit_code=1, timed_out=False, failing=3, output=""),
    TextArrived(text="Now the parser."),
)


def seen(*events: object) -> ViewState:
    state = ViewState()
    reduce_all(state, Script().stamp(*events))  # type: ignore[arg-type]
    return state


def line(state: ViewState, width: int) -> str:
    return "".join(piece.text for piece in arrange(state, state.last_at, width))


def test_a_meter_is_amber_at_three_quarters_and_red_with_a_mark_at_nine_tenths():
    by_name = {meter.name: meter for meter in meters(seen(*RUN), 0.0)}
    assert (by_name["tok"].level, by_name["usd"].level, by_name["step"].level) == ("amber", "red", "calm")
    assert "0.46/0.50!" in line(seen(*RUN), 120)


def test_what_is_held_for_a_cut_call_fills_the_meters_and_is_named_apart():
    cut = Charged(tokens_in=20_000, tokens_out=0, usd=0.1, is_cut=True, held_tokens=140_000, held_usd=0.3)
    by_name = {meter.name: meter for meter in meters(seen(started(), cut), 0.0)}
    assert (by_name["tok"].share, by_name["tok"].held, by_name["tok"].level) == (0.8, "140k", "amber")
    assert (by_name["usd"].share, by_name["usd"].held, by_name["usd"].level) == (0.8, "0.30", "amber")


def test_what_is_unpriced_or_estimated_is_reported():
    unpriced = seen(started(), Charged(tokens_in=1, tokens_out=1, usd=None))
    assert "usd   $?/0.50" in line(unpriced, 120)
    estimated = seen(started(), Charged(tokens_in=1, tokens_out=1, usd=0.1, estimated=True))
    assert "~0.10/0.50" in line(estimated, 120)


def test_a_limit_of_none_shows_only_what_was_used():
    state = seen(started(budget=Budget(steps=None, tokens=None, usd=None, seconds=None)))
    assert "/" not in line(state, 120)


@pytest.mark.parametrize("width", [200, 120, 100, 80, 60, 50])
def test_the_meters_fit_their_width_and_never_lose_a_number(width: int):
    shown = line(seen(*RUN), width)
    assert len(shown) + 2 <= width
    for number in ("1/40", "154k/200k", "0.46/0.50"):
        assert number in shown


def test_bars_go_before_numbers_and_numbers_before_names():
    assert "━" in line(seen(*RUN), 120)
    assert "━" not in line(seen(*RUN), 80)
    assert "tok" in line(seen(*RUN), 80)
    assert "tok" not in line(seen(*RUN), 50)


def test_a_bar_is_drawn_in_half_cells():
    assert draw_bar(0.5, 4) == ("━━", "──")
    assert draw_bar(0.125, 4) == ("╸", "───")
    assert draw_bar(2.0, 4) == ("━━━━", "")


@pytest.mark.parametrize("width", [120, 80, 50, 30])
def test_the_title_fits_and_keeps_the_phase(width: int):
    state = seen(started(task="a very long task " * 9), *RUN[1:])
    text = "".join(piece.text for piece in arrange_title(state, width, "streaming"))
    assert len(text) + 2 <= width
    assert "streaming" in text


def test_the_title_says_what_holds_commands_and_never_leaves_out_that_nothing_does():
    def title(width: int, **changes: object) -> str:
        return "".join(piece.text for piece in arrange_title(seen(started(**changes), *RUN[1:]), width, "streaming"))

    assert "bubblewrap" in title(120) and "network" not in title(120)
    assert "landlock, network open" in title(120, sandbox="landlock", network=True)
    assert "landlock, 2 not held" in title(120, sandbox="landlock", not_held=["UDP", "signals"])
    assert "bubblewrap, direct" in title(120, direct=True) and "direct" in title(50, direct=True, not_held=["UDP"])
    for width in (120, 80, 50):
        assert "2 not held" in title(width, not_held=["UDP", "signals"])
        assert "unsandboxed" in title(width, sandbox=None, network=True)
        assert "network open" in title(width, network=True)


def test_a_scripted_model_is_labelled_as_such():
    assert "scripted" in model_name("demo/till")


def test_every_action_of_the_view_has_something_to_do_and_no_two_share_a_key():
    shown = [action for action in ACTIONS if action.where in ("main", "board", "transcript", "end")]
    controller = RunController(PlayedLink())
    assert {action.name for action in shown} | {"steer", "gate_back"} == set(
        MainScreen(controller, {}, RundryApp(controller)).handlers.table
    )
    for place in PLACES:
        keys = [k for a in ACTIONS if a.where == place and a.keys for k in a.keys.split(",")]
        assert len(keys) == len(set(keys))


def test_slash_commands_are_parsed_with_their_argument():
    action, argument = parse_slash("/limit  usd 2 ")
    assert action is not None
    assert (action.name, argument) == ("limit", "usd 2")
    assert parse_slash("/unfold-all") == parse_slash("/unfold_all ") == (BY_NAME["unfold_all"], "")
    assert parse_slash("/nope")[0] is None
    assert parse_slash("/approve")[0] is None, "the gate's keys are no commands"


def test_remaps_of_unknown_actions_are_reported():
    good, bad = check_keys({"pause": "ctrl+y", "fly": "f"})
    assert good == {"pause": "ctrl+y"}
    assert "fly" in str(bad[0])
    assert shown_key("ctrl+y") == "^y"


async def test_a_remapped_key_works_and_is_shown():
    link = PlayedLink()
    controller = RunController(link)
    controller.begun = True
    app = RundryApp(controller, keys={"pause": "ctrl+y", "approve": "z"})
    async with app.run_test(size=(120, 30)) as pilot:
        link.play(Script().stamp(*RUN))
        await shows(pilot, "Now the parser.")
        await pilot.press("ctrl+y")
        await pilot.press("f4")
        assert [type(c).__name__ for c in link.commands] == ["Pause"]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (50, 20)])
async def test_the_screen_shows_all_at_a_glance_at_any_size(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        rows = stage.text().split("\n")
        assert rows[0].strip().startswith("rundry")
        assert "streaming" in rows[0]
        assert "1/40" in rows[1]
        assert "Now the parser." in stage.text()
        assert all(len(row) <= size[0] for row in rows)


async def test_at_eighty_by_twenty_four_a_long_proposal_takes_the_whole_height():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(*RUN, proposal(lines=40))
        await until(pilot, lambda: not stage.screen.transcript.display)
        await shows(pilot, "y approve")
        await shows(pilot, "›")
        assert stage.screen.gate.takes_all


async def test_leaving_a_run_asks_and_each_answer_is_kept():
    for key, stop in (("b", None), ("s", "now")):
        stage = Stage()
        async with stage.app.run_test(size=(100, 30)) as pilot:
            stage.play(*RUN)
            await shows(pilot, "Now the parser.")
            await pilot.press("ctrl+c", "ctrl+c")
            assert "What should happen to it?" in stage.text()
            await pilot.press(key)
        assert stage.app.return_value is not None
        assert stage.app.return_value.stop == stop


@pytest.mark.parametrize("key", ["f1", "ctrl+p"])
async def test_ctrl_c_twice_leaves_from_above_the_main_screen_too(key: str):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await pilot.press(key)
        await until(pilot, lambda: stage.app.screen is not stage.screen)
        await pilot.press("escape")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        await pilot.press(key)
        await until(pilot, lambda: stage.app.screen is not stage.screen)
        await pilot.press("ctrl+c", "ctrl+c")
        await shows(pilot, "What should happen to it?")
        await pilot.press("s")
    assert stage.app.return_value is not None


async def test_a_wrap_up_is_waited_for_before_the_screen_closes():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("ctrl+c", "ctrl+c", "w")
        assert stage.link.commands == [Stop(how="wrap_up")]
        await pilot.pause()
        assert stage.app.return_value is None
        stage.play(RunEnded(reason=Reason.USER, detail="stopped", complete=False, exit_code=130))
        await stage.caught_up(pilot)
    assert stage.app.return_value is not None


async def test_staying_changes_nothing_and_an_idle_chat_is_left_immediately():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("ctrl+q", "escape")
        assert stage.app.return_value is None
        assert stage.link.commands == []
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(loop=LoopKind.CHAT), Waiting(why="message"))
        await stage.caught_up(pilot)
        await pilot.press("ctrl+c", "ctrl+c")
        await until(pilot, lambda: stage.app.return_value is not None)
    assert stage.app.return_value is not None
    assert stage.app.return_value.stop == "now"


async def test_help_and_palette_hold_every_action():
    stage = Stage()
    async with stage.app.run_test(size=(120, 280)) as pilot:
        stage.play(*RUN)
        await pilot.press("f1")
        await shows(pilot, ACTIONS[-1].label)
        for action in ACTIONS:
            assert action.label in stage.text()
        await pilot.press("escape")
        titles = {command.title for command in stage.app.get_system_commands(stage.screen)}
        assert titles >= {a.label for a in ACTIONS if a.where == "main" and a.name != "palette"}


async def test_hostile_names_are_marks_in_the_header_too():
    stage = Stage()
    async with stage.app.run_test(size=(120, 30)) as pilot:
        stage.play(started(task="\x1b]0;evil\x07 [bold]x[/] \u202e", model="m\x1b[2J"))
        await shows(pilot, "[bold]x[/]")
        assert "\x1b" not in stage.text()
        assert "\u202e" not in stage.text()
        assert "[bold]x[/]" in stage.text()


async def test_no_colour_changes_no_word(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stage = Stage()
    async with stage.app.run_test(size=(120, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "14→3 ✗")


async def test_both_themes_are_offered_and_switched():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        stage.screen.action_do("theme", "light")
        await pilot.pause()
        assert stage.app.theme == "light"
        stage.screen.action_do("theme", "mauve")
        await shows(pilot, "mauve")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/plan", "type the task behind /plan"),
        ("/limit", "type a limit: steps 60"),
        ("/limit steps", "type its value"),
        ("/effort", "type one behind /effort"),
        ("/scope", "there is no run yet"),
        ("/compact show", "there is no run yet"),
    ],
)
async def test_a_command_that_lacks_something_says_what(command: str, said: str, tmp_path: Path):
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.screen.message.box.text = command
        await pilot.press("enter")
        await shows(pilot, said)
