"""Draws how runs end and what that proves: `.venv/bin/python docs/pictures/verdicts.py [FOLDER] [--light] [--all]`.

Writes one SVG for each kind of verdict, at 120x40 dark; with --light also in light, with --all also at 80x24, 60x20 and
200x50. Needs the tests next to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from fakes.played_events import started
from fakes.screens import Stage
from fakes.views.judged_ends import BEFORE, ENDS, VOID

SIZES = {"": (120, 40), "-80x24": (80, 24), "-60x20": (60, 20), "-200x50": (200, 50)}


async def draw(target: Path, name: str, size: tuple[int, int], theme: str, suffix: str) -> None:
    """One picture."""
    stage = Stage()
    stage.script.at = time.time() - 42
    async with stage.app.run_test(size=size) as pilot:
        stage.app.theme = theme
        stage.play(started("round all sums to cents", workspace="/home/me/shop"), *BEFORE, ENDS[name])
        if name == "void":
            stage.play(VOID)
        await pilot.pause(0.8)
        svg = stage.app.export_screenshot(title="rundry")
        await asyncio.to_thread((target / f"verdict-{name}{suffix}.svg").write_text, svg)


async def main() -> None:
    """All pictures that were asked for."""
    folders = [name for name in sys.argv[1:] if not name.startswith("-")]
    target = Path(folders[0]) if folders else Path(__file__).parent
    sizes = SIZES if "--all" in sys.argv else {"": SIZES[""]}
    for name in ENDS:
        for suffix, size in sizes.items():
            await draw(target, name, size, "dark", suffix)
            if "--light" in sys.argv:
                await draw(target, name, size, "light", f"{suffix}-light")


if __name__ == "__main__":
    asyncio.run(main())
