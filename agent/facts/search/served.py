"""What the program served to the works of a search: content of files and pages, as the results of tools have it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

from ...protocol import SKILL, ToolCalled, ToolFinished
from .reads import lines_shown, path_called

_HIT = re.compile(r"^(.+?):\d+: ", re.MULTILINE)
"""A line of the result of `search`."""
_MATCHES = re.compile(r"[\d,]+ match(?:es)?\Z")
_OUTPUT = "output:"
"""Prefix of a long output of an earlier call."""
_MOST = 1_000
"""Sources that are remembered for one work."""


@dataclass(slots=True)
class Served:
    """The sources of which one work was shown content since it started."""

    earlier: dict[str, None] = field(default_factory=dict[str, None])
    """Paths and URLs whose content the model had before its newest answer, as the model named them."""
    newest: dict[str, None] = field(default_factory=dict[str, None])
    """Those that the calls of its newest answer served: it was written before the model saw them."""
    calls: dict[str, ToolCalled] = field(default_factory=dict[str, ToolCalled])
    """Reading calls without a result."""

    def begin_answer(self) -> None:
        """Record that the model gets the results so far, and answers again."""
        self.earlier.update(self.newest)
        self.newest.clear()
        while len(self.earlier) > _MOST:
            del self.earlier[next(iter(self.earlier))]

    def finished(self, event: ToolFinished) -> None:
        """Record the result of a call."""
        called = self.calls.pop(event.call_id, None)
        if called is not None and event.ok:
            self.newest.update(dict.fromkeys(_sources(called, event)))


def _sources(called: ToolCalled, finished: ToolFinished) -> list[str]:
    """Return what the result shows content of. Names, an empty file and a search without a match are none."""
    arguments = cast("dict[str, Any]", called.arguments) if isinstance(called.arguments, dict) else {}
    match called.tool:
        case "read_file":
            path = path_called(called)
            is_file = path is not None and not path.startswith((SKILL, _OUTPUT))
            return [path] if path is not None and is_file and lines_shown(called, finished) is not None else []
        case "search" if _MATCHES.match(finished.summary or ""):
            return list(dict.fromkeys(_HIT.findall(finished.result)))
        case "fetch_url":
            return [str(arguments.get("url", ""))]
        case _:
            return []
