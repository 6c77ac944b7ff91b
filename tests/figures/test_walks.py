"""The walks in docs/architecture.md are what the program does: two of them are followed while it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.traced import Traced
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.models.model_by_role import NOTHING, ModelByRole, report
from fakes.played_events import spec
from fakes.turns import call, say
from fakes.views.board_screen import SIZE, Searching
from fakes.views.lens_search import crawl
from painted import shows, until

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import FinderSpec, ItemQueued, Lens, LoopKind
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.item_state import Candidate

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


def test_a_walk_that_is_not_true_is_named():
    traced = Traced("a.py")
    traced.called = {"a.py": [[]], "c.py": [["a.py"]], "d.py": [["x.py", "c.py"]]}
    assert traced.faults(["a.py", "c.py"]) == []
    assert traced.faults(["a.py", "b.py"]) == ["b.py was not called"]
    assert traced.faults(["c.py", "a.py"]) == ["c.py was called after a.py"]
    assert traced.faults(["a.py", "c.py", "d.py"]) == ["d.py is only reached through x.py"]
