"""What a run waits for now, and since when: from its state alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...protocol.text.shorten_text import end_cut
from .show.short_numbers import clock
from .show.titles import waiting_line

if TYPE_CHECKING:
    from .block import Block
    from .view_state import ViewState

SHOW_WAIT_SECONDS = 2.0
"""Seconds after which a wait is worth a line."""
SHOW_TIME_SECONDS = 60.0
"""Seconds from which a wait also names the time at which it ends."""
_TIME = 12
"""Cells for the time and the gaps around it."""
_RUNS = ("command", "tool", "edit", "check")


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that a run waits for."""

    what: str
    """Raw text: `waiting for the first token of qwen3:8b`, `pytest -q`."""
    since: float
    """Unix time at which it began."""
    until: float | None = None
    """Unix time at which it ends, or None if unknown."""
    others: int = 0
    """Number of further things that run at the same time."""
    line: str = ""
    """Raw text: the newest line that it printed."""
    is_lock: bool = False
    """It is a lock that someone else holds."""

    def words(self, now: float, width: int = 0) -> str:
        """Return the line: `pytest -q  0:34  12 passed`, or with the time that is left: `... again in 0:12`.

        `width`: cells for the line; a long name is shortened to leave a part of them to what it printed. 0 means no
        limit.
        """
        more = f" (and {self.others} more)" if self.others else ""
        if self.until is not None:
            at = f" (at {_time_of_day(self.until)})" if self.until - self.since >= SHOW_TIME_SECONDS else ""
            return f"{self.what}{more}  retry in {clock(max(0.0, self.until - now))}{at}"
        what = end_cut(self.what, width - min(width // 2, len(self.line) + _TIME)) if width and self.line else self.what
        return f"{what}{more}  {clock(max(0.0, now - self.since))}  {self.line}".rstrip()


def waiting_for(state: ViewState) -> Wait | None:
    """Return what the run has waited for longest, or None if it waits for nothing, or text is arriving."""
    if state.outcome is not None or state.sleeping is not None or state.last_seq == 0:
        return None
    if state.retrying is not None and not state.admitted:
        why, since, seconds = state.retrying
        return Wait(why, since, since + seconds)
    if state.locks:
        first = state.locks[0]
        what = f"waiting for {first.lock}, held by {first.holder or 'an unknown process'}"
        return Wait(what, first.since, others=len(state.locks) - 1, is_lock=True)
    found = [*(Wait(waiting_line(each), each.since) for each in state.awaits), *_running(state), *_silent(state)]
    if not found:
        return None
    oldest = min(found, key=lambda wait: wait.since)
    return replace(oldest, others=len(found) - 1)


def _running(state: ViewState) -> list[Wait]:
    """Return the commands, tools and checks that run."""
    awaited = {each.began.call_id for each in state.awaits}
    calls = (at for call_id, at in state.at_call.items() if call_id not in awaited)
    running = (*calls, *state.at_shell.values())
    places = {*running, *(at for (_, kind), at in state.growing.items() if kind in ("check", "confirm", "preparing"))}
    blocks = ((at, state.blocks.in_memory_at(at)) for at in places)
    return [
        Wait(_title(block), block.at, line=state.printed.get(at, ""))
        for at, block in blocks
        if block.status == "running" and block.kind in _RUNS
    ]


def _time_of_day(at: float) -> str:
    """Return the local time: `14:32`."""
    return time.strftime("%H:%M", time.localtime(at))


def _title(block: Block) -> str:
    if block.kind not in ("command", "check"):
        return block.title
    return f"running {block.title.removeprefix('check ').removeprefix('run ')}"


def _silent(state: ViewState) -> list[Wait]:
    """Return a wait for each model call that has not streamed any text yet."""
    speaking = {work for work, kind in state.growing if kind in ("text", "reasoning")}
    silent = [work for work in state.admitted if work not in speaking]
    started = state.busy.since
    if started is None:
        return []
    return [Wait(_before_text(state, work), started) for work in silent]


def _before_text(state: ViewState, work: str | None) -> str:
    """Describe how far the server has read the prompt, or that the first token is awaited."""
    read, total = state.prompts_read.get(work, (0, 0))
    if read < total:
        return f"reading the prompt: {read:,} of {total:,} tokens"
    return f"waiting for the first token of {state.model}"
