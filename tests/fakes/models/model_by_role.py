"""A model that answers by who it is asked to be: lenses, verifiers and a critic each have a script of their own."""

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
    """A lens's answer: findings by title, or whole. Those that cite nothing cite a file of the searched place."""
    told = [{"evidence": "a.txt", **({"title": f} if isinstance(f, str) else f)} for f in findings]
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
READ = call("search", pattern=".")


class ModelByRole(ScriptedModel):
    """`lenses`: name to answers, the last one again and again. `sceptic`: by the finding's key, with its turn.

    `reads`: it reads before a scripted answer that ends its work, in a step of its own that `asked` does not have.
    """

    def __init__(
        self,
        lenses: dict[str, Sequence[Answer]],
        *,
        sceptic: Callable[[str, int], Answer] = lambda key, nth: judge("stands"),
        critic: Sequence[Answer] = (call("propose", reason="nothing is missing"),),
        evidence: Sequence[Answer] = (NOTHING,),
        reads: bool = True,
        **more: Any,
    ) -> None:
        super().__init__([], **more)
        self._reads = reads
        self.lenses = {name: list(answers) for name, answers in lenses.items()}
        self._sceptic, self._critic, self._evidence = sceptic, list(critic), list(evidence)
        self.asked: list[str] = []
        """The works that called the model, in order: `lens taint`, `sceptic KEY`, `critic`, `evidence KEY`."""
        self._votes: dict[str, int] = {}

    def choose(self, request: Request) -> Turn | ModelFault:
        system = request.messages[0].text
        last = request.messages[-1].text
        if found := _LENS.search(system):
            name = found[1]
            if self._must_read(request, self.lenses[name][0]):
                return READ
            self.asked.append(f"lens {name}")
            return self._said(self.lenses[name], last)
        key = next((m[1] for message in request.messages if (m := _FINDING.search(message.text))), "")
        if "Try to refute it" in system:
            if self._must_read(request, None):
                return READ
            self.asked.append(f"sceptic {key}")
            nth = self._votes[key] = self._votes.get(key, 0) + 1
            answer = self._sceptic(key, nth)
            return answer(last) if callable(answer) else answer
        if "run dry" in system:
            self.asked.append("critic")
            return self._said(self._critic, last)
        if self._must_read(request, self._evidence[0]):
            return READ
        self.asked.append(f"evidence {key}")
        return self._said(self._evidence, last)

    def _must_read(self, request: Request, answer: Answer | None) -> bool:
        """Whether nothing was read since the newest prompt, and the answer would end the work."""
        is_ending = not isinstance(answer, Turn) or any(one.name in ("report", "judge") for one in answer.calls)
        roles = [message.role for message in request.messages]
        is_read = "tool" in roles[::-1][: roles[::-1].index("user")]
        return self._reads and is_ending and not is_read and not isinstance(answer, ModelFault)

    def _said(self, answers: list[Answer], last: str) -> Turn | ModelFault:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer(last) if callable(answer) else answer
