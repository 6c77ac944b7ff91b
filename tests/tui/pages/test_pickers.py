from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from fakes.played_events import spec
from fakes.providers.surveys import FOUND
from fakes.screens import PlayedStart, Stage
from fakes.server import ScriptedServer
from painted import shows, until

from rundry.agent import Journal, RundryError, RunLine, delete_run, list_runs
from rundry.agent.journal.claim import claim


class Offering(PlayedStart):
    found = FOUND


async def test_f7_lists_all_models_and_typing_filters_them(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("f7")
        await shows(pilot, "anthropic/claude-old")
        assert "COHERE_API_KEY" in stage.text()
        await pilot.press(*"sonnet")
        await until(pilot, lambda: "claude-old" not in stage.text())
        await pilot.press("enter")
        await until(pilot, lambda: start.remembered == ["anthropic/claude-sonnet-5"])


async def test_a_typed_name_that_is_not_listed_can_be_used(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("f7")
        await pilot.press(*"openai/new-one")
        await shows(pilot, "use openai/new-one")
        await pilot.press("enter")
        await until(pilot, lambda: start.remembered == ["openai/new-one"])


async def test_esc_leaves_the_picker_and_nothing_is_chosen(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    async with stage.app.run_test(size=(60, 20)) as pilot:
        await shows(pilot, "claude-sonnet-5")
        await pilot.press("f7")
        await shows(pilot, "anthropic/claude-old")
        await pilot.press("escape")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        assert start.remembered == []


async def test_an_address_that_is_typed_is_asked_for_its_models(tmp_path: Path):
    start = Offering(tmp_path, model=None)
    stage = Stage(start=start)
    with ScriptedServer([]) as server:
        async with stage.app.run_test(size=(100, 30)) as pilot:
            await pilot.press("f7")
            await pilot.press(*server.base_url)
            await shows(pilot, "for its models")
            await pilot.press("enter")
            await shows(pilot, "openai/")
            await pilot.press("enter")
            await until(pilot, lambda: bool(start.remembered))
    assert start.model is not None
    assert start.model.api_base == server.base_url


async def test_an_address_where_no_server_answers_is_reported(tmp_path: Path):
    stage = Stage(start=Offering(tmp_path, model=None))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f7")
        await pilot.press(*"http://127.0.0.1:1/v1", "enter")
        await shows(pilot, "no model server answers at http://127.0.0.1:1/v1")


@pytest.fixture
def runs(tmp_path: Path) -> list[RunLine]:
    for name in ("20261121-014233-aaaaa", "20261121-014234-bbbbb"):
        asked = msgspec.structs.replace(spec("look"), run_id=name, workspace=str(tmp_path))
        Journal.create(tmp_path / f"{name}.db", asked).close()
    return list_runs(tmp_path)


async def test_f3_lists_the_sessions_and_enter_opens_the_marked_one(tmp_path: Path, runs: list[RunLine]):
    stage = Stage(start=Offering(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f3")
        await shows(pilot, "20261121-014234-bbbbb")
        await pilot.press("down")
        await shows(pilot, "20261121-014233-aaaaa")
        await pilot.press("enter")
        await until(pilot, lambda: stage.app.return_value is not None)
    assert stage.app.return_value is not None
    assert stage.app.return_value.next == "resume 20261121-014233-aaaaa"


async def test_enter_watches_a_run_that_another_process_drives(tmp_path: Path, runs: list[RunLine]):
    newest = next(run for run in runs if run.run_id == "20261121-014234-bbbbb")
    with claim(Path(newest.path)):
        stage = Stage(start=Offering(tmp_path))
        async with stage.app.run_test(size=(100, 30)) as pilot:
            await pilot.press("f3")
            await shows(pilot, newest.run_id)
            await pilot.press("enter")
            await until(pilot, lambda: stage.app.return_value is not None)
    assert stage.app.return_value is not None
    assert stage.app.return_value.next == f"watch {newest.run_id}"


async def test_delete_asks_once_more_and_removes_only_that_run(tmp_path: Path, runs: list[RunLine]):
    stage = Stage(start=Offering(tmp_path))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f3")
        await shows(pilot, "20261121-014234-bbbbb")
        await pilot.press("delete")
        await shows(pilot, "press del again")
        assert len(list_runs(tmp_path)) == 2
        await pilot.press("delete")
        await until(pilot, lambda: [run.run_id for run in list_runs(tmp_path)] == ["20261121-014233-aaaaa"])
        assert not list(tmp_path.glob("20261121-014234-bbbbb*"))


def test_a_run_in_use_is_not_deleted(tmp_path: Path, runs: list[RunLine]):
    path = Path(runs[0].path)
    with claim(path), pytest.raises(RundryError, match="in use: stop it first"):
        delete_run(path)
    assert path.exists()
