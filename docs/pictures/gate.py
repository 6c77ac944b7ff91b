"""Draws the gate: `.venv/bin/python docs/pictures/gate.py [FOLDER] [--all]`.

A proposal with three hunks waits on a screen, gone through by its keys: docked below the transcript, side by side, on
the whole height, and in conflict with the person's own edit. Writes what the README shows, gate-split and
gate-conflict; with --all also gate-unified and gate-full, and each of the four in light and at 80x24. Needs the tests
beside it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from fakes.played_events import started
from fakes.views.gate_stage import GateStage
from textual.pilot import Pilot

from rundry.agent import GateMode, ProposalRebased, StepStarted, TextArrived, ToolCalled, ToolFinished
from rundry.agent.gate.three_way_merge import merge

OLD = '''"""Reads `key: value` lines, and does sums with them."""


def divide(a, b):
    r = round(a / b, 2)
    if b == 0:
        raise ZeroDivisionError
    return r


def mean(values):
    total = 0
    for value in values:
        total = total + value
    return divide(total, len(values))


def parse_key(line):
    """The key and the value of one line, without the blanks around them."""
    parts = line.split(":")
    return parts[0].strip(), parts[1].strip()


def parse(text):
    found = {}
    for line in text.splitlines():
        if line:
            key, value = parse_key(line)
            found[key] = value
    return found


def share(amount, people):
    return [amount / people] * people
'''
NEW = (
    OLD.replace(
        "    r = round(a / b, 2)\n    if b == 0:\n        raise ZeroDivisionError\n    return r\n",
        '    if b == 0:\n        raise ZeroDivisionError("b")\n    return round(a / b, 2)\n',
    )
    .replace('parts = line.split(":")', 'parts = line.partition(":")')
    .replace("parts[1].strip()", "parts[2].strip()")
    .replace("[amount / people]", "[divide(amount, people)]")
)
MINE = OLD.replace("[amount / people]", "[round(amount / people, 2)]")
BEFORE = [
    StepStarted(number=6),
    ToolCalled(call_id="c0", tool="read_file", arguments={"path": "src/calc.py"}),
    ToolFinished(call_id="c0", tool="read_file", ok=True, result="", seconds=0.1, summary="37 lines"),
    TextArrived(text="The divide function rounds before it checks for zero, and keys may hold colons."),
    ToolCalled(call_id="c1", tool="edit_file", arguments={"path": "src/calc.py"}),
]


class Picture:
    """The stage, one proposal on it, and where its pictures go."""

    def __init__(self, folder: Path, target: Path, theme: str, suffix: str) -> None:
        self.stage = GateStage(folder)
        self.stage.script.at, self.stage.script.step = time.time() - 42, 6
        self.target, self.theme, self.suffix = target, theme, suffix

    async def waits(self, pilot: Pilot[None]) -> None:
        """It takes keys."""
        opened = self.stage.edit(
            old=OLD, new=NEW, path="src/calc.py", call_id="c1", asks=["the gate is set to `effects`: changes wait"]
        )
        self.stage.app.theme = self.theme
        task = started("fix the failing suite", workspace="/home/me/calc", gate=GateMode.EFFECTS)
        await self.stage.opened(pilot, task, *BEFORE, opened)

    async def save(self, pilot: Pilot[None], name: str, keys: Sequence[str]) -> None:
        """After these keys."""
        await pilot.press(*keys)
        await pilot.pause(0.8)
        svg = self.stage.app.export_screenshot(title="rundry")
        await asyncio.to_thread((self.target / f"gate-{name}{self.suffix}.svg").write_text, svg)

    async def conflict(self, pilot: Pilot[None]) -> None:
        """The person changed a line of the last hunk meanwhile."""
        joined = merge(OLD, MINE, NEW)
        fields = self.stage.change(MINE, joined.text, path="src/calc.py")
        merged = fields["after"]
        why = "your edit of 12:04:31: its content changed, and this would overwrite it"
        rebased = ProposalRebased(proposal_id="p1", digest="digest-r", why=why, conflict=True, merged=merged, **fields)  # type: ignore[arg-type]
        await self.stage.opened(pilot, rebased)


async def draw(target: Path, size: tuple[int, int], theme: str, suffix: str, *, names: Sequence[str]) -> None:
    """These pictures, in one session."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Picture(Path(folder), target, theme, suffix)
        async with picture.stage.app.run_test(size=size) as pilot:
            await picture.waits(pilot)
            left = ["]", "space", "tab", *"keep split, it is faster", "enter"]
            await pilot.press(*[{" ": "space", ",": "comma"}.get(key, key) for key in left])
            if "unified" in names:
                await picture.save(pilot, "unified", ["f"])
                await pilot.press("f")
            await picture.save(pilot, "split", ["v"])
            if "full" in names:
                await picture.save(pilot, "full", ["v", "home"])
                await pilot.press("v")
            await picture.conflict(pilot)
            await picture.save(pilot, "conflict", ["v", "end"])
        picture.stage.journal.close()


async def main() -> None:
    """All pictures that were asked for."""
    folders = [name for name in sys.argv[1:] if not name.startswith("-")]
    target = Path(folders[0]) if folders else Path(__file__).parent
    if "--all" not in sys.argv:
        await draw(target, (120, 40), "dark", "", names=["split", "conflict"])
        if "--light" in sys.argv:
            await draw(target, (120, 40), "light", "-light", names=["split", "conflict"])
        return
    everything = ["unified", "split", "full", "conflict"]
    for size, theme, suffix in (
        ((120, 40), "dark", ""),
        ((120, 40), "light", "-light"),
        ((80, 24), "dark", "-80x24"),
        ((80, 24), "light", "-80x24-light"),
    ):
        await draw(target, size, theme, suffix, names=everything)


if __name__ == "__main__":
    asyncio.run(main())
