"""The walks in docs/architecture.md are what the program does: they are followed while it runs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.inside import spec_of
from fakes.in_process.traced import Called, Traced
from fakes.layered import layered_place
from fakes.models.minded import NOTHING, MindedModel, report
from fakes.models.model import ScriptedModel
from fakes.server import ScriptedServer
from fakes.turns import call, say
from painted import painted, until

from rundry.agent import Session
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import FinderSpec, Lens, LoopKind, Stop
from rundry.agent.run.process.in_process import run_in_process
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController

from .walks import walks

TEST = 'import subprocess\n\n\ndef test_calc():\n    assert subprocess.check_output(["sh", "calc.sh"]) == b"4\\n"\n'


def files_of(root: Path, title: str) -> list[str]:
    return [place.what for place in walks(root)[title]]


async def test_a_green_check_comes_to_its_grade_on_the_way_that_the_page_describes(pytestconfig: pytest.Config):
    walk = files_of(pytestconfig.rootpath, "a green check to its grade")
    async with layered_place(pytestconfig.rootpath) as folder:
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
    walk = files_of(pytestconfig.rootpath, "the key of an item")
    for name in ("place", "runs"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "place/a.txt").write_text("one\n")
    model = MindedModel({"one": [report(items=[("file", "a.txt")]), NOTHING]})
    spec = FinderSpec(lenses=[Lens(name="one", prompt="look")], sceptics=1, critic=False)
    run = Driven(tmp_path / "runs", tmp_path / "place", model, task="t", loop=LoopKind.UNTIL_DRY, finder=spec)
    with Traced(walk[0]) as traced:
        outcome = await run.run(within=100.0)
    assert outcome.reason == "dry" and len(run.of("item_queued")) == 1, run.story()
    assert traced.faults(walk) == []


async def test_a_text_comes_to_the_screen_on_the_way_that_the_page_describes(
    pytestconfig: pytest.Config, tmp_path: Path
):
    walk = files_of(pytestconfig.rootpath, "a model's text to the screen")
    for name in ("work", "runs"):
        (tmp_path / name).mkdir(mode=0o700)
    # the beginning of the answer is on the screen before anything is noted: what follows is only text
    answer = say("The beginning of an answer,\n\nthen the **rest** of it.\n", hold_after=4, rate=30.0)
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
                    await until(pilot, lambda: "then the rest" in painted(app))
        finally:
            controller.link.put(Stop(how="now"))
            await running
            controller.link.close()
    assert traced.faults(walk) == []


def test_a_walk_that_is_not_true_is_named():
    traced = Traced("a.py")
    ways = {"a.py": [[]], "c.py": [["x.py", "a.py"], ["a.py"]], "d.py": [["x.py", "c.py"]], "e.py": [["c.py", "a.py"]]}
    traced.called = {name: [Called(n, above) for above in ways[name]] for n, name in enumerate(ways)}
    assert traced.faults(["a.py", "c.py", "e.py"]) == []
    assert traced.faults(["a.py", "c.py"]) == []
    assert traced.faults(["a.py", "b.py"]) == ["b.py was not called"]
    assert traced.faults(["c.py", "a.py"]) == ["c.py was called after a.py"]
    assert traced.faults(["a.py", "c.py", "d.py"]) == ["d.py is only reached through x.py"]
