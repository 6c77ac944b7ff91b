"""Draws the pictures of a session in a chat, from the scenes of the snapshots.

Writes each scene of `SCENES_SHOWN` as SVG, at 120x40 dark; with --light also in light, with --all also at 80x24. With
names of scenes after `--only`, only these. Needs the tests next to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")

from sizes import asked_for
from snapshots.scenes import SCENES
from snapshots.shots import steady

SCENES_SHOWN = ("gate-plan", "plan", "waiting", "gate-web", "called-children", "rewind-diffs", "palette", "first")


async def draw(name: str, target: Path, size: tuple[int, int], theme: str, suffix: str) -> None:
    """Draw one scene."""
    with tempfile.TemporaryDirectory() as folder:
        async with SCENES[name](Path(folder)) as scene, scene.app.run_test(size=size) as pilot:
            scene.app.theme = theme
            await scene.reach(pilot)
            await steady(pilot)
            (target / f"{name}{suffix}.svg").write_text(scene.app.export_screenshot(title="rundry"))


async def main() -> None:
    """All pictures that were asked for."""
    names = sys.argv[sys.argv.index("--only") + 1 :] if "--only" in sys.argv else SCENES_SHOWN
    for size in asked_for():
        for name in names:
            await draw(name, *size)


if __name__ == "__main__":
    asyncio.run(main())
