"""Draw a scene and compare it with the accepted snapshot."""

from __future__ import annotations

import difflib
import tempfile
from pathlib import Path

from .scenes import SCENES
from .shots import STYLED, shoot

ACCEPTED = Path(__file__).parent / "accepted"
HOW = "If the change is wanted, look at it and accept it: .dev/snapshots"


async def drawn(name: str) -> tuple[str, list[str]]:
    """Return the snapshot of a scene, and what the other themes draw differently."""
    # a path of the same length everywhere: it is shown, and wrapped
    with tempfile.TemporaryDirectory(prefix="rundry-", dir="/tmp") as folder:
        async with SCENES[name](Path(folder)) as scene, scene.app.run_test(size=STYLED) as pilot:
            await scene.reach(pilot)
            return await shoot(pilot)


async def difference(name: str) -> str:
    """Return what differs from the accepted snapshot; empty if nothing does."""
    now, wrong = await drawn(name)
    path = ACCEPTED / f"{name}.txt"
    before = path.read_text("utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        before.splitlines(), now.splitlines(), f"{name}: accepted", f"{name}: now", n=2, lineterm=""
    )
    text = "\n".join([*lines, *wrong[:20]])
    return f"\n{text}\n{HOW} {name}" if text else ""
