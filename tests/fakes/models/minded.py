"""A model that answers by who it is asked to be: lenses, sceptics and a critic each have a script of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rundry.agent.protocol import ModelFault, Request

from ..turns import Turn, call
from .model import ScriptedModel

Answer = Turn | ModelFault | Callable[[str], Turn]
_LENS = re.compile(r"Your way to look is `([^`]+)`")
_FINDING = re.compile(r"Finding `([^`]+)`")


def report(*findings: str | dict[str, Any], items: Sequence[tuple[str, str]] = (), new: bool | None = None) -> Turn:
    """A lens's answer: findings by title, or whole."""
    told = [{"title": f} if isinstance(f, str) else f for f in findings]
    return call(
        "report",
        found_new=bool(told or items) if new is None else new,
        reason="looked",
        findings=told,
        items=[{"kind": kind, "value": value} for kind, value in items],
    )


def judge(verdict: str, reason: str = "checked", of: str | None = None) -> Turn:
    return call("judge", verdict=verdict, reason=reason, **({"duplicate_of": of} if of else {}))


NOTHING = report()


class MindedModel(ScriptedModel):
    """`lenses`: name to answers, the last one again and again. `sceptic`: by the finding's key, with its turn."""

    def __init__(
        self,
        lenses: dict[str, Sequence[Answer]],
        *,
        sceptic: Callable[[str, int], Answer] = lambda key, nth: judge("stands"),
        critic: Sequence[Answer] = (call("propose", reason="nothing is missing"),),
        evidence: Sequence[Answer] = (NOTHING,),
        **more: Any,
    ) -> None:
        super().__init__([], **more)
        self._lenses = {name: list(answers) for name, answers in lenses.items()}
        self._sceptic, self._critic, self._evidence = sceptic, list(critic), list(evidence)
        self.asked: list[str] = []
        """The works that called the model, in order: `lens taint`, `sceptic KEY`, `critic`, `evidence KEY`."""
        self._votes: dict[str, int] = {}

    def choose(self, request: Request) -> Turn | ModelFault:
        system = request.messages[0].text
        last = request.messages[-1].text
        if found := _LENS.search(system):
            name = found[1]
            self.asked.append(f"lens {name}")
            return self._said(self._lenses[name], last)
        key = next((m[1] for message in request.messages if (m := _FINDING.search(message.text))), "")
        if "Try to refute it" in system:
            self.asked.append(f"sceptic {key}")
            nth = self._votes[key] = self._votes.get(key, 0) + 1
            answer = self._sceptic(key, nth)
            return answer(last) if callable(answer) else answer
        if "run dry" in system:
            self.asked.append("critic")
            return self._said(self._critic, last)
        self.asked.append(f"evidence {key}")
        return self._said(self._evidence, last)

    def _said(self, answers: list[Answer], last: str) -> Turn | ModelFault:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer(last) if callable(answer) else answer
