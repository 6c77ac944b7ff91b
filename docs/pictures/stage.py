"""Draws what a command would change, and what a run staged: `.venv/bin/python docs/pictures/stage.py [FOLDER] [--all]`.

Writes effects and stage as SVG, at 120x40 dark; with --light also in light, with --all also at 80x24. Needs the tests
next to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from fakes.played_events import started
from fakes.views.gate_stage import GateStage
from fakes.views.stage_review import review_of
from sizes import asked_for

from rundry.agent import EffectEntry, GateMode, StepStarted, TextArrived, ToolCalled, ToolFinished

OLD = """def total(items):
    result = 0
    for item in items:
        result = result + item.price
    return round(result)


def discount(price, rate):
    return price - price * rate / 100


def tax(price):
    return price * 0.2
"""
NEW = OLD.replace("return round(result)", "return round(result, 2)").replace("price * 0.2", "round(price * 0.2, 2)")
COMMAND = "python tools/round.py && make docs"
BEFORE = [
    StepStarted(number=4),
    ToolCalled(call_id="c0", tool="read_file", arguments={"path": "shop/money.py"}),
    ToolFinished(call_id="c0", tool="read_file", ok=True, result="", seconds=0.1, summary="14 lines"),
    TextArrived(text="All sums have to be rounded to cents. A script of the project does that, then I build the docs."),
    ToolCalled(call_id="c1", tool="run_command", arguments={"command": COMMAND}),
]
ALONG = "34 files of docs/_build, built, not reviewed"


def entries(stage: GateStage) -> list[EffectEntry]:
    """A changed, a new and a deleted text, a link, and a file that asks in every mode."""
    return [
        stage.text_entry(".envrc", None, "export SHOP_ROUNDING=2\n", danger=True, why=["direnv runs it in your shell"]),
        EffectEntry(path="docs/latest", kind="link", change="added", target="_build/html"),
        stage.text_entry("docs/money.md", "# Money\n\nSums are whole.\n", "# Money\n\nSums have two digits.\n"),
        stage.text_entry("shop/money.py", OLD, NEW),
        stage.text_entry("shop/rounding.py", "def whole(x):\n    return round(x)\n", None),
        stage.text_entry(
            "tests/test_money.py", None, "from shop.money import tax\n\n\ndef test_tax():\n    assert tax(1) == 0.2\n"
        ),
    ]


async def draw(target: Path, size: tuple[int, int], theme: str, suffix: str) -> None:
    """Both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        stage = GateStage(Path(folder))
        stage.script.at, stage.script.step = time.time() - 42, 4
        async with stage.app.run_test(size=size) as pilot:

            async def save(name: str) -> None:
                await pilot.pause(0.8)
                svg = stage.app.export_screenshot(title="rundry")
                await asyncio.to_thread((target / f"{name}{suffix}.svg").write_text, svg)

            stage.app.theme = theme
            task = started("round all sums to cents", workspace="/home/me/shop", gate=GateMode.EFFECTS)
            opened = stage.effects(*entries(stage), command=COMMAND, along=ALONG, call_id="c1")
            await stage.opened(pilot, task, *BEFORE, opened)
            await pilot.press("down", "down", "down")
            await save("effects")
            review = review_of(stage, *entries(stage), along=ALONG, task="round all sums to cents")
            screen = review.open()
            while screen.gate.arming.painted is None:
                await pilot.pause(0.05)
            await pilot.press("down", "down", "down", "down", "space")
            await save("stage")
        stage.journal.close()


async def main() -> None:
    """All pictures that were asked for."""
    for one in asked_for():
        await draw(*one)


if __name__ == "__main__":
    asyncio.run(main())
