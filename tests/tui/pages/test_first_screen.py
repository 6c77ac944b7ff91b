from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest
from fakes.played_events import started
from fakes.providers.surveys import FOUND, NOTHING_FOUND
from fakes.screens import PlayedStart, Stage
from painted import shows, until

import rundry.agent.models
from rundry.agent import CheckFinished, ModelSpec, RundryError, RunLine, RunSpec, candidates, discover, remember_model
from rundry.agent.models.found_models import ModelLine, ServerFound, Survey
from rundry.agent.settings.settings import load_settings
from rundry.tui.pages.first_choices import UseModel, model_section

UNFINISHED = RunLine(
    run_id="20261121-014233-k3f9x",
    path="/nowhere/20261121-014233-k3f9x.db",
    state="interrupted",
    task="fix the parser",
    started=time.time() - 420,
)


class Offering(PlayedStart):
    found = FOUND
    runs = (UNFINISHED,)


async def test_models_that_answer_are_listed_with_window_and_price_and_one_line_says_what_is_missing(tmp_path: Path):
    stage = Stage(start=Offering(tmp_path, model=None))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        text = stage.text()
        assert "ollama, this machine" in text
        assert "context   USD/1M in/out" in text
        assert "    33k            free" in text
        assert "     1M    2.00 / 10.00" in text
        assert "1 more provider needs a key: F7" in text
        assert "claude-old" not in text, "the picker has it"
        assert "step " not in text, "there are no meters before there is a run"


async def test_with_a_chosen_model_the_first_screen_does_not_say_that_no_server_answers(tmp_path: Path):
    class Alone(PlayedStart):
        found = NOTHING_FOUND

    for model, says in (
        ("openai/qwen", "1 more provider needs a key: F7"),
        (None, "no key is set, no local server answers"),
    ):
        stage = Stage(start=Alone(tmp_path, model=model))
        async with stage.app.run_test(size=(80, 24)) as pilot:
            await shows(pilot, says)
            assert ("no local server answers" in stage.text()) is (model is None)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_every_row_fits_at_every_size(tmp_path: Path, size: tuple[int, int]):
    (tmp_path / "pyproject.toml").touch()
    stage = Stage(start=Offering(tmp_path, model=None))
    async with stage.app.run_test(size=size) as pilot:
        await shows(pilot, "claude-sonnet-5")
        for wanted in ("qwen3:8b", "demo", "fix the parser", "explain this folder", "until pytest -q"):
            assert wanted in stage.text()


async def test_enter_in_the_empty_box_takes_the_marked_model_and_it_is_kept(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("down", "enter")
        await until(pilot, lambda: start.remembered == ["anthropic/claude-sonnet-5"])
        assert start.model == ModelSpec(name="anthropic/claude-sonnet-5")


async def test_a_number_takes_its_row_and_letters_are_text(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("c")
        assert stage.screen.message.box.text == "c"
        await pilot.press("backspace", "1", "enter")
        await until(pilot, lambda: start.model is not None)
        assert start.model == ModelSpec(name="ollama_chat/qwen3:8b", api_base="http://127.0.0.1:11434")


async def test_a_first_message_goes_to_the_marked_model_if_none_is_chosen(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("down", *"hi", "enter")
        await until(pilot, lambda: stage.controller.begun)
        assert start.model == ModelSpec(name="anthropic/claude-sonnet-5")


async def test_a_first_message_goes_to_the_first_model_if_another_kind_of_row_is_marked(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press(*["down"] * 9, *"hi", "enter")
        await until(pilot, lambda: stage.controller.begun)
        assert start.model == ModelSpec(name="ollama_chat/qwen3:8b", api_base="http://127.0.0.1:11434")


async def test_an_example_with_a_check_begins_a_run_that_this_check_ends(tmp_path: Path):
    (tmp_path / "Cargo.toml").touch()
    start = Offering(tmp_path)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "until cargo test")
        await pilot.press("up", "up")
        for _ in range(12):
            await pilot.press("down")
        await pilot.press("up", "enter")
        await until(pilot, lambda: stage.screen.message.box.text == "fix the failing tests")
        await pilot.press("enter")
        await until(pilot, lambda: bool(stage.link.begun))
        assert start.options["until"] == ("cargo test",)


async def test_the_words_of_an_example_that_were_changed_have_no_check(tmp_path: Path):
    (tmp_path / "Cargo.toml").touch()
    start = Offering(tmp_path)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "until cargo test")
        stage.screen.prompt.fill("fix the failing tests of the parser")
        await pilot.press("enter")
        await until(pilot, lambda: bool(stage.link.begun))
        assert "until" not in start.options


async def test_a_click_takes_a_row(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        row = next(y for y, line in enumerate(stage.text().splitlines()) if "claude-sonnet-5" in line)
        await pilot.click(offset=(10, row))
        await until(pilot, lambda: start.remembered == ["anthropic/claude-sonnet-5"])


async def test_the_unfinished_run_opens_by_enter(tmp_path: Path):
    stage = Stage(start=Offering(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "fix the parser")
        for _ in range(12):
            await pilot.press("down")
        for _ in range(3):
            await pilot.press("up")
        await pilot.press("enter")
        await until(pilot, lambda: stage.app.return_value is not None)
    assert stage.app.return_value is not None
    assert stage.app.return_value.next == "resume 20261121-014233-k3f9x"


def test_the_last_choice_is_used_only_where_nothing_else_names_a_model(tmp_path: Path):
    env = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    remember_model(ModelSpec(name="openai/local", api_base="http://127.0.0.1:9/v1"), env)
    chosen = load_settings({}, cwd=tmp_path, env=env, trust=False)
    assert chosen.model() == ModelSpec(name="openai/local", api_base="http://127.0.0.1:9/v1")
    assert chosen["model"].origin == "last choice"
    named = load_settings({"model": "openai/gpt-5"}, cwd=tmp_path, env=env, trust=False)
    assert named.model() == ModelSpec(name="openai/gpt-5")


def test_the_last_choice_keeps_that_its_server_gets_no_key(tmp_path: Path):
    env = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    model = ModelSpec(name="openai/m", api_base="https://third.example/v1", key_from="")
    remember_model(model, env)
    assert load_settings({}, cwd=tmp_path, env=env, trust=False).model() == model


@pytest.mark.parametrize("content", [b"", b"[]", b'{"name": 3}', b"\xff", b"[" * 100_000])
def test_a_broken_last_choice_counts_as_none(tmp_path: Path, content: bytes):
    env = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    (tmp_path / "rundry").mkdir()
    (tmp_path / "rundry/last-model.json").write_bytes(content)
    assert load_settings({}, cwd=tmp_path, env=env, trust=False).model() is None


async def test_the_suggested_models_are_in_the_table_and_come_first():
    variables = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
    variables |= {"deepseek": "DEEPSEEK_API_KEY", "xai": "XAI_API_KEY", "mistral": "MISTRAL_API_KEY"}
    variables |= {"moonshot": "MOONSHOT_API_KEY", "zai": "ZAI_API_KEY", "groq": "GROQ_API_KEY"}
    wanted = tomllib.loads((Path(rundry.agent.models.__file__).parent / "suggested.toml").read_text())
    assert set(wanted) == set(variables)
    survey = await discover(dict.fromkeys(variables.values(), "key"), addresses=[])
    offered = [each.model.name for each in candidates(survey) if each.is_suggested]
    assert sorted(offered) == sorted(f"{provider}/{name}" for provider in wanted for name in wanted[provider])


@pytest.mark.parametrize("chosen", [None, ModelSpec(name="openai/qwen"), ModelSpec(name="ollama_chat/m1")])
def test_five_models_are_offered_and_the_chosen_one_is_among_them(chosen: ModelSpec | None):
    models = [ModelLine(name=f"ollama_chat/m{number}") for number in range(9)]
    survey = Survey(servers=[ServerFound(kind="ollama", api_base="http://127.0.0.1:11434", models=models)])
    rows = model_section(survey, chosen, "F7").rows
    offered = [row.choice.model.name for row in rows if isinstance(row.choice, UseModel)]
    assert len(offered) == len(set(offered)) == 5 and (chosen is None or offered[0] == chosen.name)
    assert [row.key for row in rows] == ["1", "2", "3", "4", "5", "6", "F7"]


class Refusing(Offering):
    is_refused = True

    def spec(self, task: str) -> RunSpec:
        if self.is_refused:
            raise RundryError("refused")
        return super().spec(task)


async def test_the_check_of_a_refused_example_is_not_used_for_the_next_task(tmp_path: Path):
    (tmp_path / "Cargo.toml").touch()
    start = Refusing(tmp_path)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "until cargo test")
        stage.screen.prompt.fill("fix the failing tests")
        await pilot.press("enter")
        await shows(pilot, "refused")
        assert start.options["until"] == ("cargo test",)
        start.is_refused = False
        stage.screen.prompt.fill("explain it")
        await pilot.press("enter")
        await until(pilot, lambda: bool(stage.link.begun))
        assert start.options["until"] == ()


async def test_the_name_of_a_key_that_is_sent_is_a_message(tmp_path: Path):
    stage = Stage(start=Offering(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "F7")
        stage.screen.prompt.fill("F4")
        await pilot.press("enter")
        await until(pilot, lambda: [spec.task for spec in stage.link.begun] == ["F4"])


async def test_a_check_that_was_typed_is_shown_and_decides_the_next_task(tmp_path: Path):
    start = Offering(tmp_path)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "/until CMD adds a check")
        stage.screen.prompt.fill("/until")
        await pilot.press("enter")
        await shows(pilot, "no check is set; /until CMD sets the one")
        stage.screen.prompt.fill('/until "make \x1b[31m check"')
        await pilot.press("enter")
        await shows(pilot, "Done when  make ␛[31m check  passes   /until none removes it")
        assert "what should be done until make ␛[31m check passes?" in stage.text()
        stage.screen.prompt.fill("/until make check")
        await pilot.press("enter")
        await shows(pilot, "Done when  make check  passes")
        assert "goal  make check" in stage.text().splitlines()[0]
        stage.screen.prompt.fill("repair the parser")
        await pilot.press("enter")
        await until(pilot, lambda: bool(stage.link.begun))
        assert start.options["until"] == ("make check",)


async def test_a_typed_check_can_be_removed_and_one_that_cannot_start_changes_nothing(tmp_path: Path):
    start = Offering(tmp_path)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "/until CMD adds a check")
        stage.screen.prompt.fill("/until make check")
        await pilot.press("enter")
        await shows(pilot, "Done when  make check")
        stage.screen.prompt.fill("/until missing")
        await pilot.press("enter")
        await shows(pilot, "missing: command not found")
        assert "Done when  make check" in stage.text()
        stage.screen.prompt.fill("/until none")
        await pilot.press("enter")
        await until(pilot, lambda: "Done when" not in stage.text())
        assert start.options["until"] == ()


async def test_a_typed_check_replaces_the_one_of_a_refused_example(tmp_path: Path):
    (tmp_path / "Cargo.toml").touch()
    start = Refusing(tmp_path)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "until cargo test")
        stage.screen.prompt.fill("fix the failing tests")
        await pilot.press("enter")
        await shows(pilot, "refused")
        start.is_refused = False
        stage.screen.prompt.fill("/until cargo test")
        await pilot.press("enter")
        await shows(pilot, "Done when  cargo test")
        stage.screen.prompt.fill("explain it")
        await pilot.press("enter")
        await until(pilot, lambda: bool(stage.link.begun))
        assert start.options["until"] == ("cargo test",)


async def test_the_check_of_a_run_that_has_begun_is_shown_and_cannot_change():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        failed = {"passed": False, "exit_code": 1, "timed_out": False, "failing": None, "output": ""}
        stage.play(started(), CheckFinished(command="make", **failed))  # type: ignore[arg-type]
        await stage.caught_up(pilot)
        stage.screen.prompt.fill("/until")
        await pilot.press("enter")
        await shows(pilot, "the run is done when make passes")
        stage.screen.prompt.fill("/until true")
        await pilot.press("enter")
        await shows(pilot, "the check of a run cannot change after its start")
        assert not stage.link.commands
