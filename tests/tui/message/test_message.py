from __future__ import annotations

from pathlib import Path

import pytest
from fakes.played_events import started
from fakes.screens import PlayedStart, Stage
from painted import shows, until

from rundry.agent import (
    Answer,
    CallAdmitted,
    Compact,
    Interrupt,
    Pause,
    QuestionAsked,
    Queued,
    Say,
    SetLimit,
    Shell,
    Steer,
    StepOnce,
    StepStarted,
    Stop,
    SwitchModel,
    TextArrived,
    Unqueue,
)
from rundry.tui.keys.lookup import slash_commands
from rundry.tui.message.completion import best, complete
from rundry.tui.message.message_history import History
from rundry.tui.message.pastes import Pastes
from rundry.tui.message.workspace_files import list_files

STREAMING = (
    started(),
    StepStarted(number=1),
    CallAdmitted(prompt_tokens=1, max_tokens=1, worst_usd=0),
    TextArrived(text="hm"),
)


def test_history_goes_up_and_down_and_gives_the_draft_back():
    history = History()
    history.add("a")
    history.add("b")
    history.add("b")
    assert [history.older("draft"), history.older("b"), history.older("a")] == ["b", "a", None]
    assert [history.newer(), history.newer(), history.newer()] == ["b", "draft", None]


def test_a_long_paste_is_folded_and_sent_whole():
    pastes = Pastes()
    long = "\n".join(map(str, range(40)))
    mark = pastes.fold(long)
    assert mark == "[paste 1: 40 lines]"
    assert pastes.unfold(f"see {mark}!") == f"see {long}!"
    assert pastes.fold("short") == "short"
    assert pastes.fold("x" * 700) == "[paste 2: 700 characters]"


def test_commands_and_files_are_completed_where_they_begin():
    found = complete("/li", first_line=True, files=())
    assert found is not None
    assert [row.insert for row in found.rows] == ["/limit "]
    assert complete("/li", first_line=False, files=()) is None
    assert complete("/limit u", first_line=True, files=()) is None
    found = complete("see @calc", first_line=True, files=["src/calc.py", "README.md"])
    assert found is not None
    assert (found.start, found.rows[0].insert) == (4, "src/calc.py ")
    assert complete("mail@calc", first_line=True, files=["src/calc.py"]) is None


def test_files_whose_name_begins_so_come_first():
    paths = ["docs/core.md", "core/a.py", "src/core.py", "c/o/r/e.txt", "b.py"]
    assert best(paths, "core") == ["src/core.py", "docs/core.md", "core/a.py", "c/o/r/e.txt"]


def test_ignored_files_are_not_offered(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a.py").write_text("")
    (tmp_path / "x.log").write_text("")
    assert "a.py" in list_files(tmp_path)
    assert "x.log" not in list_files(tmp_path)


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("hello", Say(text="hello")),
        ("/limit usd 2", SetLimit(name="usd", value=2.0)),
        ("/limit time 20m", SetLimit(name="seconds", value=1200.0)),
        ("/limit tokens none", SetLimit(name="tokens", value=None)),
        ("/pause", Pause()),
        ("/step", StepOnce()),
        ("/stop", Stop(how="wrap_up")),
        ("/stop now", Stop(how="now")),
        ("!ls -l", Shell(command="ls -l")),
    ],
)
async def test_what_is_typed_becomes_a_command(typed: str, command: object):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await stage.caught_up(pilot)
        stage.screen.message.box.text = typed
        stage.screen.message.box.send(steer=False)
        await pilot.pause()
        assert stage.link.commands == [command]
        assert stage.screen.message.box.text == ""


async def test_files_are_offered_as_soon_as_they_are_known(tmp_path: Path):
    (tmp_path / "money.py").write_text("")
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"@mon")
        await shows(pilot, "› money.py")
        assert stage.screen.message.box.text == "@mon"


@pytest.mark.parametrize("typed", ["/nonsense", "/limit wings 3", "/limit usd free", "/stop maybe", "/gate open"])
async def test_what_cannot_be_done_is_reported_and_stays_in_the_box(typed: str):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await stage.caught_up(pilot)
        stage.screen.message.box.text = typed
        stage.screen.message.box.send(steer=False)
        await pilot.pause()
        await until(pilot, lambda: stage.screen.message.box.text == typed)
        assert stage.link.commands == []
        assert typed.split()[0].strip("/") in stage.text()


async def test_enter_queues_ctrl_s_steers_ctrl_j_breaks_the_line_and_escape_interrupts():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await stage.caught_up(pilot)
        await pilot.press("a", "ctrl+j", "b", "enter")
        await pilot.press("c", "ctrl+s")
        await pilot.press("escape")
        assert stage.link.commands == [Say(text="a\nb"), Steer(text="c"), Interrupt()]


async def test_a_queued_message_is_shown_and_taken_back_into_the_box():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING, Queued(queued_id=4, text="later"))
        await shows(pilot, "1 queued")
        await pilot.press("alt+up")
        assert stage.link.commands == [Unqueue(queued_id=4)]
        assert stage.screen.message.box.text == "later"


async def test_the_answer_to_a_question_may_be_the_number_of_an_option():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), QuestionAsked(question_id="q1", question="which?", options=["left", "right"]))
        await shows(pilot, "right")
        await pilot.press("2", "enter")
        assert stage.link.commands == [Answer(question_id="q1", text="right")]


async def test_the_first_message_begins_the_run(tmp_path: Path):
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("g", "o", "enter")
        assert [spec.task for spec in stage.link.begun] == ["go"]


async def test_without_a_model_it_says_what_was_looked_for_and_a_model_can_be_named(tmp_path: Path):
    start = PlayedStart(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "demo")
        stage.screen.action_do("model", "ollama_chat/x")
        assert start.model is not None


async def test_switching_the_model_goes_to_the_run():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await stage.caught_up(pilot)
        stage.screen.action_do("model", "openai/x")
        (command,) = stage.link.commands
        assert isinstance(command, SwitchModel)
        assert command.model.name == "openai/x"


RUNS = {
    "its full name": ([*"/compact"], [Compact(undo=False)]),
    "the marked row": ([*"/compa"], [Compact(undo=False)]),
    "a row that was chosen": ([*"/sto", "down", "up"], [Stop(how="wrap_up")]),
    "a name that begins another one": ([*"/step"], [StepOnce()]),
    "an optional argument": ([*"/stop"], [Stop(how="wrap_up")]),
}


@pytest.mark.parametrize("name", RUNS)
async def test_one_enter_runs_a_slash_command(name: str):
    keys, sent = RUNS[name]
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await stage.caught_up(pilot)
        await pilot.press(*("slash" if key == "/" else key for key in keys), "enter")
        await until(pilot, lambda: stage.link.commands == sent)
        assert stage.screen.message.box.text == ""


@pytest.mark.parametrize(("typed", "text"), [("/effo", "/effort "), ("/effort", "/effort "), ("/fin", "/find ")])
async def test_a_slash_command_that_needs_arguments_is_inserted(typed: str, text: str):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await stage.caught_up(pilot)
        await pilot.press(*("slash" if key == "/" else key for key in typed), "enter")
        await until(pilot, lambda: stage.screen.message.box.text == text)
        assert stage.link.commands == []


def test_the_command_whose_full_name_is_typed_comes_first():
    for name in [action.slash for action in slash_commands()]:
        found = complete(f"/{name}", first_line=True, files=())
        assert found is not None and found.rows[0].insert == f"/{name} "


def test_a_users_command_runs_without_arguments_only_if_it_needs_none():
    commands = [("fix", "", "a"), ("fix-one", "[ISSUE]", "b"), ("fix-two", "ISSUE", "c")]
    found = complete("/fix", first_line=True, files=(), user_commands=lambda: commands)
    assert found is not None
    assert {row.insert.strip(): row.runs for row in found.rows} == {"/fix": True, "/fix-one": True, "/fix-two": False}


async def test_a_slash_is_completed_by_tab():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*STREAMING)
        await pilot.press("slash", "p", "a")
        await shows(pilot, "/pause")
        await pilot.press("tab")
        assert stage.screen.message.box.text == "/pause "
