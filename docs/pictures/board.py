"""Draws the pictures of the board: `.venv/bin/python docs/pictures/board.py [FOLDER] [--all]`.

A search by four lenses runs to its dry end on a scripted model, in this process; what its journal said up to three
places is played on a screen: early, in the middle, dry. Needs the tests beside it. With --all also 80x24 and light.
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

from fakes.in_process.driven import Driven
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.screens import Stage
from fakes.turns import call

from rundry.agent import FinderSpec, Lens, LoopKind, PassStarted, RunStarted, Stamped, WorkStarted
from rundry.agent.protocol import Budget, ModelFault

SECONDS = 1.7
"""Between two events on the picture: the scripted model needs no time of its own."""
PLACES = ("orders.py", "admin.py", "report.py", "list.py", "users.py", "page.py")
WHAT = (
    ("raw string in the search", 4),
    ("table name from the header", 2),
    ("f-string around a constant", 3),
    ("order by from a cookie", 1),
    ("unescaped LIKE pattern", 5),
    ("limit taken from the query", 2),
)
PROMPTS = {
    "taint": "Follow each request parameter to where it is used.",
    "auth": "Look where a name or a right goes into a query.",
    "migrations": "Read what changes the schema.",
    "cache": "Look at keys that are built from input.",
}


def _found(*numbers: int) -> object:
    told = []
    for n in numbers:
        title, line = WHAT[n % len(WHAT)]
        place = PLACES[n % len(PLACES)] if n < len(WHAT) else PLACES[(n + 1) % len(PLACES)]
        told.append(
            {
                "title": f"{title} of {place.removesuffix('.py')}",
                "evidence": f"src/{place}:{line}",
                "detail": "The value goes into the text of the query as it came; nothing on the way quotes it.",
                "key": f"f{n}",
            }
        )
    return report(*told)


def _sceptic(key: str, nth: int) -> object:
    if int(key[1:]) % 3 == 2:
        return judge("refuted", "it is a constant in every caller")
    return judge("refuted" if nth == 2 and int(key[1:]) % 2 else "stands", "I found no way on which it is quoted")


async def search(folder: Path) -> list[Stamped]:
    """The events of a search that ran."""
    project, runs = folder / "shop", folder / "runs"
    (project / "src").mkdir(parents=True)
    runs.mkdir(mode=0o700)
    for name in PLACES:
        text = "".join(f"cursor.execute(query + values[{n}])\n" for n in range(1, 9))
        (project / "src" / name).write_text(text)
    out = ModelFault("bad-request", "the model's server said 400", retryable=True)
    look = call("read_file", path="src/orders.py")
    answers = {
        "taint": [look, _found(0, 1, 2), _found(3, 4, 0), look, _found(5, 6), _found(7), NOTHING],
        "auth": [look, _found(8, 1), _found(9), _found(10, 3), NOTHING],
        "migrations": [_found(2), look, _found(11), NOTHING, NOTHING],
        "cache": [out, out, out, NOTHING],
    }
    model = ModelByRole(answers, sceptic=_sceptic)  # type: ignore[arg-type]
    spec = FinderSpec(lenses=[Lens(name=name, prompt=prompt) for name, prompt in PROMPTS.items()], sceptics=3)
    task = "every place where input reaches SQL"
    run = Driven(runs, project, model, task=task, loop=LoopKind.UNTIL_DRY, finder=spec, budget=Budget(steps=200))
    await run.run()
    return run.stamped


def until(told: Sequence[Stamped], number: int, kind: str) -> list[Stamped]:
    """What was told up to the first work of that kind in that pass."""
    is_there = False
    for at, stamped in enumerate(told):
        event = stamped.event
        is_there = is_there or (isinstance(event, PassStarted) and event.number >= number)
        if is_there and isinstance(event, WorkStarted) and event.kind == kind:
            return list(told[: at + 2])
    return list(told)


async def draw(told: Sequence[Stamped], path: Path, size: tuple[int, int], theme: str, keys: Sequence[str]) -> None:
    """One picture."""
    stage = Stage()
    now = time.time()
    first = now - SECONDS * len(told)
    stage.link.play([Stamped(s.seq, first + SECONDS * n, s.step, s.work, s.event) for n, s in enumerate(told)])
    assert isinstance(told[0].event, RunStarted)
    async with stage.app.run_test(size=size) as pilot:
        stage.app.theme = theme
        await pilot.pause(0.6)
        await pilot.press(*keys)
        await pilot.pause(0.6)
        picture = stage.app.export_screenshot(title="rundry find")
    await asyncio.to_thread(path.write_text, picture)


async def main() -> None:
    """All pictures that were asked for."""
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    target = Path(names[0]) if names else Path(__file__).parent
    looks = [((120, 40), "dark", "")]
    if "--light" in sys.argv or "--all" in sys.argv:
        looks.append(((120, 40), "light", "-light"))
    if "--all" in sys.argv:
        looks += [
            ((80, 24), "dark", "-80x24"),
            ((80, 24), "high-contrast", "-80x24-hc"),
        ]
    with tempfile.TemporaryDirectory() as folder:
        told = await search(Path(folder))
        for size, theme, suffix in looks:
            await draw(until(told, 1, "sceptic"), target / f"board-early{suffix}.svg", size, theme, ())
            await draw(until(told, 3, "sceptic"), target / f"board-middle{suffix}.svg", size, theme, ())
            await draw(told, target / f"board-dry{suffix}.svg", size, theme, ())
            await draw(told, target / f"board-finding{suffix}.svg", size, theme, ("f2", "enter"))


if __name__ == "__main__":
    asyncio.run(main())
