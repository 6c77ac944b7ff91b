"""What a run remembers of the diagnostics of its earlier steps. A resumed run begins with nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...protocol import Problem
from .read_problems import ProblemKey, key_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ...sandbox.sandbox import Sandbox

Conversation = tuple[str | None, str | None]
"""The try, and the work in it."""

_MOST_LATE = 2
"""How often in a row a tool may be too slow. The first time its cache may be empty."""


@dataclass(slots=True, eq=False)
class DiagnosticsMemory:
    """The tools that are too slow here, and what was reported. Tries share it with their run."""

    _sent: dict[Conversation, Counter[ProblemKey]] = field(default_factory=dict[Conversation, Counter[ProblemKey]])
    """The problems that each conversation knows and that were still there when a tool looked last."""
    _noted: set[str] = field(default_factory=set[str])
    """The lines that were shown to a person."""
    before: dict[tuple[str, str, str, str], Counter[ProblemKey]] = field(
        default_factory=dict[tuple[str, str, str, str], Counter[ProblemKey]]
    )
    """The problems of a file before the run, by tool, its folder, the file and the digest of the content."""
    sandbox_before: Sandbox | None = None
    """The one in which tools see files as they were before a unit of work, or None if there was none yet."""
    ending: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    """Tools that were too slow and are being ended."""
    _late: Counter[tuple[str, str, bool]] = field(default_factory=Counter[tuple[str, str, bool]])

    def is_given_up(self, name: str, folder: str, *, is_before: bool = False) -> bool:
        """Return whether a tool is no longer tried in this run."""
        return self._late[name, folder, is_before] >= _MOST_LATE

    def note_time(self, name: str, folder: str, *, is_late: bool, is_before: bool = False) -> None:
        """Note whether a tool was too slow. `is_before`: when it looked at the files as they were before the run."""
        key = (name, folder, is_before)
        self._late[key] = self._late[key] + 1 if is_late else 0

    def note_ended(self, task: asyncio.Task[Any]) -> None:
        """Forget a tool that was being ended. What it raised does not matter any more."""
        self.ending.discard(task)
        if not task.cancelled():
            task.exception()

    def unsent(self, conversation: Conversation, found: Sequence[Problem]) -> list[Problem]:
        """Return the problems that were not sent to the model."""
        left, new = Counter[ProblemKey](self._sent.get(conversation, {})), list[Problem]()
        for problem in found:
            if left[key_of(problem)] > 0:
                left[key_of(problem)] -= 1
            else:
                new.append(problem)
        return new

    def remember(
        self, conversation: Conversation, sent: Sequence[Problem], changed: Collection[str], ran: Collection[str]
    ) -> None:
        """Remember the problems that are in the changed files now and that the model knows.

        A problem that goes away and comes back is sent again. `ran`: the tools that looked.
        """
        tools = {*ran, *(problem.tool for problem in sent)}
        before = self._sent.get(conversation, Counter[ProblemKey]())
        others = Counter({key: count for key, count in before.items() if key[0] not in changed or key[1] not in tools})
        self._sent[conversation] = others + Counter(map(key_of, sent))

    def unshown(self, notes: Sequence[str]) -> list[str]:
        """Return the lines that were not shown in this run."""
        new = [line for line in dict.fromkeys(notes) if line not in self._noted]
        self._noted.update(new)
        return new
