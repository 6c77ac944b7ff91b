"""Accept the screens as they are now: `python -m snapshots [SCENE...]` prints each difference and writes it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from .compare import ACCEPTED, drawn
from .scenes import SCENES


async def main(names: list[str]) -> int:
    """Draw the scenes, and write those that differ. Return the exit code: 1 if a theme draws one differently."""
    if unknown := set(names) - set(SCENES):
        print(f"unknown scene {', '.join(sorted(unknown))}: use {', '.join(SCENES)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or SCENES:
        try:
            text, wrong = await drawn(name)
        except AssertionError as error:
            print(f"{name} was not reached: {error}", file=sys.stderr)
            failed += 1
            continue
        path = ACCEPTED / f"{name}.txt"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"accepted {name}: git diff {path.relative_to(Path.cwd().parent)}")
        for line in wrong[:20]:
            print(f"{name}: {line}")
        failed += bool(wrong)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
