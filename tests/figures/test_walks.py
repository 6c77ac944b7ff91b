"""The walks in docs/architecture.md are what the program does: they are followed while it runs."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.headless_run import spec_of
from fakes.in_process.traced import Called, Traced
from fakes.in_process.traced_process import traced_python
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.models.model_by_role import NOTHING, ModelByRole, report
from fakes.played_events import spec
from fakes.server import ScriptedServer
from fakes.turns import call, edit, say
from fakes.views.board_screen import SIZE, Searching
from fakes.views.lens_search import crawl
from msgspec.structs import replace
from painted import painted, shows, until

from rundry.agent import Session
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import FinderSpec, GateMode, ItemQueued, Lens, LoopKind, ModelSpec, Stop
from rundry.agent.run.process.in_process import run_in_process
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.item_state import Candidate
from rundry.tui.app.app import RundryApp
from rundry.tui.app.main_screen import MainScreen
from rundry.tui.cli.open_screen import open_resumed
from rundry.tui.control.run_controller import RunController
from rundry.tui.gate.gate_panel import GatePanel

from .walks import walks

ITEM = "an item to a row on the board"
SCREEN = "tui/control/run_follower.py"
"""The first file of that walk in the process of the screen."""
TEST = 'import subprocess\n\n\ndef test_calc():\n    assert subprocess.check_output(["sh", "calc.sh"]) == b"4\\n"\n'


def files_of(root: Path, title: str) -> list[str]:
    return [place.what for place in walks(root)[title]]


async def test_a_green_check_comes_to_its_grade_on_the_way_that_the_page_describes(pytestconfig: pytest.Config):
    walk = files_of(pytestconfig.rootpath, "a green check to its grade")
    async with layered_folder(pytestconfig.rootpath) as folder:
        for name in ("work", "runs"):
            (folder / name).mkdir(mode=0o700)
        (folder / "work/calc.sh").write_text("echo 5\n")
        (folder / "work/test_calc.py").write_text(TEST)
        model = ScriptedModel([call("run_command", command="echo 'echo 4' > calc.sh"), say("done")])
        run = Driven(folder / "runs", folder / "work", model, until=[f"{sys.executable} -m pytest -q test_calc.py"])
        with Traced(walk[0], starts=lambda: bool(run.of("effects_applied"))) as traced:
            outcome = await run.run(within=100.0)
    assert outcome.reason == "done" and outcome.evidence is not None and outcome.evidence.grade == "judged", run.story()
    assert traced.faults(walk) == []


async def test_an_item_comes_to_its_key_on_the_way_that_the_page_describes(pytestconfig: pytest.Config, tmp_path: Path):
    walk = files_of(pytestconfig.rootpath, ITEM)
    walk = walk[: walk.index(SCREEN)]
    for name in ("place", "runs"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "place/a.txt").write_text("one\n")
    model = ModelByRole({"one": [report(items=[("file", "a.txt")]), NOTHING]})
    spec = FinderSpec(lenses=[Lens(name="one", prompt="look")], sceptics=1, critic=False)
    run = Driven(tmp_path / "runs", tmp_path / "place", model, task="t", loop=LoopKind.UNTIL_DRY, finder=spec)
    with Traced(walk[0]) as traced:
        outcome = await run.run(within=100.0)
    assert outcome.reason == "dry" and len(run.of("item_queued")) == 1, run.story()
    assert traced.faults(walk) == []


async def test_an_item_comes_to_its_row_on_the_way_that_the_page_describes(pytestconfig: pytest.Config, tmp_path: Path):
    walk = files_of(pytestconfig.rootpath, ITEM)
    stage = Searching(crawl())
    stage.link.journal = Journal.create(tmp_path / "run.db", spec(loop=LoopKind.UNTIL_DRY, finder=FinderSpec()))
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.data is not None)
        stage.board.go_to_tab(stage.board.number_of("queue"))
        Frontier(stage.link.journal).surface([Candidate("value", "the first item")], "seed", tmp_path)
        with Traced(SCREEN, starts=lambda: not stage.link.is_read) as traced:
            stage.play(
                ItemQueued(key="the first item", kind="value", value="the first item", source="seed", reason="seed")
            )
            await shows(pilot, "the first item")
    stage.link.journal.close()
    assert traced.faults(walk[walk.index(SCREEN) :]) == []


async def test_a_keystroke_comes_to_the_disk_on_the_way_that_the_page_describes(
    pytestconfig: pytest.Config, tmp_path: Path
):
    walk = files_of(pytestconfig.rootpath, "a keystroke to the disk")
    for name in ("work", "runs"):
        (tmp_path / name).mkdir(mode=0o700)
    file = tmp_path / "work/a.txt"
    file.write_text("one\n")
    model = ScriptedModel([edit("a.txt", "one", "ONE")], then=say("done"))
    run, is_pressed = Driven(tmp_path / "runs", tmp_path / "work", model, gate=GateMode.ASK), False
    with Traced(walk[0], starts=lambda: is_pressed) as traced:
        running = asyncio.ensure_future(run.run(watched=True))
        controller = RunController(Session.attach(run.path))
        app = RundryApp(controller)
        try:
            async with app.run_test(size=(80, 24)) as pilot:
                await until(pilot, lambda: isinstance(app.screen, MainScreen))
                gate = app.screen.query_one(GatePanel)
                await until(pilot, lambda: gate.arming.painted is not None and gate.has_focus_within)
                is_pressed = True
                await pilot.press("y")
                await until(pilot, lambda: file.read_text() == "ONE\n")
        finally:
            controller.link.put(Stop(how="now"))
            await running
            controller.link.close()
    at_runner = walk.index("agent/run/commands/handle_commands.py")  # it also looks at the inbox before the key
    assert traced.faults(walk[:at_runner]) == []
    assert traced.faults(walk[at_runner:]) == []


async def test_a_text_comes_to_the_screen_on_the_way_that_the_page_describes(
    pytestconfig: pytest.Config, tmp_path: Path
):
    walk = files_of(pytestconfig.rootpath, "a model's text to the screen")
    for name in ("work", "runs"):
        (tmp_path / name).mkdir(mode=0o700)
    # the beginning of the answer is on the screen before anything is noted: what follows is only text
    text = f"The beginning of an answer,\n\n{'then the **rest** of it, ' * 40}\n\nto its end.\n"
    answer = say(text, hold_after=4, rate=30.0)
    with ScriptedServer([answer]) as server:
        spec = spec_of(server, tmp_path / "work", loop=LoopKind.CHAT, task="say it")
        path = tmp_path / "runs" / f"{spec.run_id}.db"
        Journal.create(path, spec).close()
        running = asyncio.ensure_future(run_in_process(path, on_event=lambda stamped: None))
        controller = RunController(Session.attach(path))
        app = RundryApp(controller)
        try:
            async with app.run_test(size=(80, 24)) as pilot:
                await until(pilot, lambda: "The beginning" in painted(app))
                with Traced(walk[0]) as traced:
                    server.release()
                    # on a busy machine, whole redraws come between those of text alone
                    await until(pilot, lambda: not traced.faults(walk) or "to its end" in painted(app))
        finally:
            controller.link.put(Stop(how="now"))
            await running
            controller.link.close()
    assert traced.faults(walk) == []


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")  # the runner outlives its view
def test_a_killed_run_is_resumed_on_the_way_that_the_page_describes(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    walk = files_of(pytestconfig.rootpath, "kill and resume")
    for name in ("work", "runs"):
        (tmp_path / name).mkdir(mode=0o700)
    run = Driven(
        tmp_path / "runs", tmp_path / "work", ScriptedModel([call("run_command", command="true"), say("done")])
    )
    asyncio.run(run.run())
    with ScriptedServer([say("done")]) as server:
        served = ModelSpec(name="openai/fake", api_base=server.base_url, context=32_000)
        run.spec = replace(run.spec, model=served)
        killed = run.killed_at("tool_called")
        notes, (reading, writing) = tmp_path / "notes.json", os.pipe()
        monkeypatch.setattr(sys, "executable", str(traced_python(tmp_path, notes)))
        os.close(writing)  # the view leaves as soon as the runner has its order
        flags = {"plain": True, "runs_dir": str(killed.path.parent), "cwd": str(tmp_path / "work")}
        with os.fdopen(reading) as typed, Traced(walk[0]) as traced:
            monkeypatch.setattr(sys, "stdin", typed)
            open_resumed(str(killed.path), flags, hint=None)
        gc.collect()  # the view's handle of the runner, which is not told that it ended
        server.wait_requests(1)
        in_runner = Traced.of_process(notes, within=60.0)
    at_runner = walk.index("agent/run/__main__.py")
    assert traced.faults(walk[:at_runner]) == []
    assert in_runner.faults(walk[at_runner:]) == []


def test_a_walk_that_is_not_true_is_named():
    traced = Traced("a.py")
    ways = {
        "a.py": [[]],
        "c.py": [["x.py", "a.py"], ["a.py"]],
        "d.py": [["x.py", "c.py"]],
        "e.py": [["c.py", "a.py"]],
    }
    traced.called = {name: [Called(n, above) for above in ways[name]] for n, name in enumerate(ways)}
    assert traced.faults(["a.py", "c.py", "e.py"]) == []
    assert traced.faults(["a.py", "c.py"]) == []
    assert traced.faults(["a.py", "b.py"]) == ["b.py was not called"]
    assert traced.faults(["c.py", "a.py"]) == ["c.py was called after a.py"]
    assert traced.faults(["a.py", "c.py", "d.py"]) == ["d.py is only reached through x.py"]
