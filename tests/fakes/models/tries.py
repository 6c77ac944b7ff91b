"""A model that answers each try of a pass by its own script: tries work at the same time, so their order is open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rundry.agent.protocol import ModelFault, Request

from ..server import Rule
from ..turns import Call, Turn, calls, say
from .model import ScriptedModel

_WHO = re.compile(r"Pass (\d+)\..*You are try (\d+) of", re.DOTALL)
Scripts = Mapping[tuple[int, int], Sequence[Turn | Any]]
"""Pass and try to the turns of that try; the last one is repeated."""


class TryingModel(ScriptedModel):
    """Plays the script of the try that asks."""

    def __init__(self, scripts: Scripts, **more: Any) -> None:
        super().__init__(then=say("nothing more to do"), **more)
        self.scripts = scripts

    def choose(self, request: Request) -> Turn | ModelFault:
        asked = next((_WHO.search(m.text) for m in request.messages if m.role == "user" and _WHO.search(m.text)), None)
        turns = None if asked is None else self.scripts.get((int(asked[1]), int(asked[2])))
        if turns is None:
            return super().choose(request)
        return turns[min(sum(m.role == "assistant" for m in request.messages), len(turns) - 1)]


def rule(number: int, candidate: int, turn: Turn) -> Rule:
    """The answer of the scripted server to that try of that pass."""
    return Rule(rf"Pass {number}\..*You are try {candidate} of", turn)


def writes(path: str, content: object) -> Turn:
    """Write the file and finish, in one step."""
    return calls(
        Call("write_file", {"path": path, "content": f"{content}\n"}),
        Call("finish", {"answer": f"wrote {content}", "citations": [path]}),
    )
