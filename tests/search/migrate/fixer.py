"""A model that fixes files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, edit

from rundry.agent.protocol import (
    ModelFault,
    Request,
)

CHECK = "grep -q new {file}"


FILE = re.compile(r"^The file: (.+?)\.(?: An earlier attempt|$)", re.MULTILINE)


Fix = Callable[[str, int], Turn | ModelFault]


class Fixer(ScriptedModel):
    """A model that fixes the file in its prompt. `fix` gets the path and the number of the turn for this file."""

    def __init__(self, fix: Fix | None = None) -> None:
        super().__init__([])
        self._fix = fix or (lambda path, nth: edit(path, "old", "new"))
        self.turns: list[str] = []
        """The file of each call, in order."""

    def choose(self, request: Request) -> Turn | ModelFault:
        path = next(m[1] for message in request.messages if (m := FILE.search(message.text)))
        self.turns.append(path)
        return self._fix(path, self.turns.count(path))


def texts(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(place.glob("*.txt"))}


def done(run: Driven) -> list[str]:
    finished = [e for e in run.of("work_finished") if e["kind"] == "item" and e["ok"]]
    return [Path(e["about"]).name for e in finished]
