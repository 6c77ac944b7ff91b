"""Collect the shown parts of an answer: text and reasoning, in order."""

from __future__ import annotations

from ...protocol import ReasoningPart, TextPart

Parts = list[TextPart | ReasoningPart]


class Output:
    """Collects pieces; adjacent pieces of one kind become one part."""

    def __init__(self) -> None:
        self._runs: list[tuple[type[TextPart] | type[ReasoningPart], list[str]]] = []

    def text(self, text: str) -> None:
        """Add a piece of text."""
        self._add(TextPart, text)

    def reasoning(self, text: str) -> None:
        """Add a piece of reasoning."""
        self._add(ReasoningPart, text)

    def drain(self) -> Parts:
        """Return what was added since the last call."""
        runs, self._runs = self._runs, []
        return [kind("".join(pieces)) for kind, pieces in runs]

    def _add(self, kind: type[TextPart] | type[ReasoningPart], text: str) -> None:
        if not text:
            return
        if self._runs and self._runs[-1][0] is kind:
            self._runs[-1][1].append(text)
        else:
            self._runs.append((kind, [text]))
