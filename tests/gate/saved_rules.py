"""Rules of the gate that a test stores."""

from __future__ import annotations

from rundry.agent.protocol import Rule


class Saved:
    """The rules that a person added with `always`. With an error, none can be saved."""

    def __init__(self, error: Exception | None = None) -> None:
        self.rules: list[Rule] = []
        self._error = error

    def add(self, rule: Rule) -> None:
        if self._error is not None:
            raise self._error
        self.rules.append(rule)
