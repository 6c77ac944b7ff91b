"""What the judge of a result adds to a run, as ratios to one run of its check; with an undecided file, and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.turns import call, say

from rundry.agent.protocol import Budget

from .table import Row, middle

ROUNDS = 5
SLOW = 1.0
"""Seconds that the check sleeps, so that what is measured is not the start of its program."""
ABOUT = f"""A result costs time when it is judged: the check runs once more without the changes that nobody decided
on, and planted tests show whether it reports a failure. Each value is the median of {ROUNDS} runs. The ratio compares
it with one run of the check in the same runs, which sleeps for {SLOW:g} s. "With an undecided file" is a result that
does not rest on that file; these runs are paired with those without it. "Before the first call" is what the judge does
before the model starts."""
FIX, UNDECIDED, RESTS = "sed -i s/5/4/ calc.py", "; echo more > notes.txt", "; echo 4 > wanted.txt"
FILES = {
    "calc.py": "def four():\n    return 5\n",
    "wanted.txt": "5\n",
    "test_calc.py": "import time\n\nimport calc\n\n\ndef test_four():\n"
    f"    time.sleep({SLOW})\n    assert calc.four() == 4\n",
    "check.sh": f"sleep {SLOW}\ngrep -q 'return 4' calc.py\n",
    "wants.sh": f'sleep {SLOW}\ngrep -q "return $(cat wanted.txt)" calc.py && grep -q 4 wanted.txt\n',
}
PYTEST, SHELL, WANTS = f"{sys.executable} -m pytest -q", "sh check.sh", "sh wants.sh"


class _Cost(NamedTuple):
    """Seconds of one run."""

    check: float
    """The last check in the workspace."""
    begin: float
    """From the end of the first check to the first call."""
    end: float
    """From the end of the last check to the end of the run."""


async def measure() -> list[Row]:
    """Rows for a check without a planted test, for one with them, and for a result that rests on an undecided file."""
    async with layered_folder(Path.cwd()) as place:
        (place / "runs").mkdir()
        rows = list[Row]()
        for check, what, limit in ((SHELL, "nothing can be planted", 1.6), (PYTEST, "planted tests", 3.2)):
            alone, more = await _paired(place, check)
            seconds = middle([one.check for one in alone])
            rows += [
                Row(f"end of a run, {what}", middle([one.end for one in alone]), "s", seconds, "its check", limit),
                Row("  with an undecided file", middle([o.end for o in more]), "s", middle([o.end for o in alone]),
                    "without", 1.15),
                Row("  before the first call", middle([one.begin for one in alone]), "s", seconds, "its check", 1.6),
            ]  # fmt: skip
        red = [await _run(place, WANTS, FIX + RESTS) for _ in range(ROUNDS)]
        seconds = middle([one.check for one in red])
        what = "end of a run that rests on an undecided file"
        return [*rows, Row(what, middle([one.end for one in red]), "s", seconds, "its check", 4.2)]


async def _paired(place: Path, check: str) -> tuple[list[_Cost], list[_Cost]]:
    """Return the costs without an undecided file and with one. Every other pair begins with the second."""
    alone, more = list[_Cost](), list[_Cost]()
    for number in range(ROUNDS):
        pair = [(alone, FIX), (more, FIX + UNDECIDED)]
        for costs, command in pair if number % 2 == 0 else reversed(pair):
            costs.append(await _run(place, check, command))
    return alone, more


async def _run(place: Path, check: str, command: str) -> _Cost:
    work = place / "work"
    subprocess.run(["rm", "-rf", work], check=True)
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
    model = ScriptedModel([call("run_command", command=command), *[say("done")] * 3])
    run = Driven(place / "runs", work, model, until=[check], budget=Budget(steps=4))
    await run.run(within=120)
    first, *_, last = run.of("check_finished")
    return _Cost(
        check=last["seconds"],
        begin=_at(run, "step_started") - first["at"],
        end=_at(run, "run_ended") - last["at"],
    )


def _at(run: Driven, kind: str) -> float:
    found: dict[str, Any] = run.of(kind)[0]
    return float(found["at"])
