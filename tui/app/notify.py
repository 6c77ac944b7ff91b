"""Notify the person if the run needs them and they look elsewhere: bell, notification, title, a command of their own.

The texts are rundry's own: they contain nothing from a model, a file or a tool.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rundry.agent import Journal, LoopKind, RundryError, ViewState

BELL = "\x07"
SAVE_TITLE = "\x1b[22;2t"
"""XTerm control sequences, "Window manipulation": save the title of the window."""
RESTORE_TITLE = "\x1b]2;\x07\x1b[23;2t"
"""Restore the saved title, or set an empty one in a terminal that saves none."""
_TITLELESS = ("dumb", "linux", "")
_CLAIM = "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING key"
_AT_WORK = ("thinking", "streaming", "running", "judging", "compacting", "wrapping up", "starting")


@dataclass(frozen=True, slots=True)
class Occasion:
    """An event for which the person is needed."""

    key: str
    """An identifier that is the same in every view of the run."""
    why: Literal["gate", "question", "handoff", "end", "turn", "pause", "gone"]
    words: str


def occasions(state: ViewState, phase: str) -> Iterator[Occasion]:
    """Yield the occasions for which the person is needed now."""
    for proposal_id in state.proposals:
        yield Occasion(f"gate {proposal_id}", "gate", "has a proposal for you")
    if state.question is not None:
        yield Occasion(f"question {state.question.question_id}", "question", "has a question for you")
    if state.awaits_person:
        yield Occasion(f"await {state.awaits[0].began.call_id}", "question", "waits for you")
    if state.handoff is not None and state.waiting == "handoff":
        yield Occasion(f"handoff {state.handed_over_at}", "handoff", "needs you: hand-off")
    if state.outcome is not None:
        words = f"ended: {state.outcome.reason.words}" + ("" if state.outcome.complete else ", not complete")
        yield Occasion(f"end {state.outcome.steps} {state.outcome.seconds}", "end", words)
    elif state.loop is LoopKind.CHAT and state.waiting == "message" and state.step is not None:
        yield Occasion(f"turn {state.step}", "turn", "your turn")
    elif phase == "runner gone":
        yield Occasion(f"gone {state.last_seq}", "gone", "lost its runner")
    elif phase == "paused":
        yield Occasion(f"pause {state.step}", "pause", "is paused")


def terminal_call(words: str, *, tmux: bool) -> str:
    """Return bell, OSC 9 (iTerm2, kitty, Windows Terminal) and OSC 777 (urxvt, foot, Ghostty) together."""
    text = "".join(c for c in f"rundry {words}" if c.isprintable() and c != ";")
    calls = (f"\x1b]9;{text}\x07", f"\x1b]777;notify;rundry;{text}\x07")
    return BELL + "".join(_through_tmux(call) if tmux else call for call in calls)


def title(phase: str) -> str:
    """Return the title of the window for a phase."""
    return f"\x1b]2;rundry: {'working' if phase in _AT_WORK else phase}\x07"


class Notifier:
    """Notifies the person once for each occasion, and only while the terminal does not have the focus."""

    def __init__(self, env: Mapping[str, str], *, quiet: bool = False, hook: str | None = None) -> None:
        """`quiet`: write nothing and notify nobody. `hook`: a command line."""
        self._env, self._quiet, self._hook = env, quiet, hook
        self._began = time.time()
        self._known: set[str] = set()
        self._title = ""
        self._has_title = env.get("TERM", "") not in _TITLELESS

    def opening(self) -> str:
        """Return what is written to the terminal before the app starts."""
        return SAVE_TITLE if self._has_title and not self._quiet else ""

    def closing(self) -> str:
        """Return what is written to the terminal after the app."""
        return RESTORE_TITLE if self._has_title and not self._quiet else ""

    def update(
        self, state: ViewState, phase: str, *, focused: bool, journal: Journal | None, write: Callable[[str], object]
    ) -> None:
        """Look for new occasions; `write` receives what is written to the terminal."""
        if self._quiet:
            return
        if self._has_title and (now := title(phase)) != self._title:
            self._title = now
            write(now)
        found = list(occasions(state, phase))
        fresh = [occasion for occasion in found if occasion.key not in self._known]
        self._known = {occasion.key for occasion in found}
        if not fresh or state.last_at < self._began - 1.0:  # the occasion is older than this view
            return
        if not focused:
            write(terminal_call(fresh[0].words, tmux=bool(self._env.get("TMUX"))))
        if self._hook is not None and self._is_first(journal, fresh[0]) and not focused:
            from rundry.agent import (
                start_notify_hook,  # 11 modules that start processes: only a view with a hook needs them
            )

            about = {"why": fresh[0].why, "text": f"rundry {fresh[0].words}", "run": state.run_id}
            about["journal"] = state.journal
            start_notify_hook(self._hook, env=self._env, about=about, workspace=Path(state.workspace or "."))

    def _is_first(self, journal: Journal | None, occasion: Occasion) -> bool:
        """Return whether no other view has notified the person of this, or has the focus."""
        try:
            return journal is None or bool(journal.rows(_CLAIM, (f"called {occasion.key}", str(time.time()))))
        except RundryError:
            return True  # a full disk is one more reason to notify the user


def _through_tmux(sequence: str) -> str:
    """Return the sequence in the form that tmux passes on to its terminal, if `allow-passthrough` is on."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"
