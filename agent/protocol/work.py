"""What a loop orders and what it gets back. Plain data that can cross a process border."""

from __future__ import annotations

from typing import Any

import msgspec

from .events.run import Sleeping
from .outcome import Reason


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """An order for `step`: one model call with its tools, repeated up to `step_cap` times."""

    work: str | None = None
    """Name of the conversation: `lens:taint`, `sceptic:KEY#2`, `item:KEY`; None: the run's one conversation."""
    kind: str = "main"
    """`main`; of a finder `item`, `lens`, `sceptic`, `critic`, `evidence`; of passes `begin`, `close`, `measure`."""
    about: str = ""
    """The item's or finding's key, or the lens's name."""
    system: str | None = None
    """The system prompt of a conversation that begins; None: the run's."""
    prompt: str | None = None
    """What the program tells the model first (a failed check, a nudge, a hint), if anything."""
    prompt_kind: str = "task"
    """`task`, `check`, `nudge`, `hint` or `review`."""
    tools: list[str] | None = None
    """Names of the tools on offer; None: all of the run's."""
    model: str | None = None
    """None: the run's."""
    step_cap: int = 1
    ends_with: str | None = None
    """Name of the tool whose accepted call ends the work."""


class WorkResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a work. What happened is in the journal; this is what the loop needs at once."""

    work: str | None = None
    steps: int = 0
    fault: str | None = None
    """Why the work failed (it is then not an empty one), or None."""
    retryable: bool = False
    """Trying later can help."""
    exhausted: str | None = None
    """The budget that did not admit the next call, as a person reads it; None: it was admitted."""
    handoff: str | None = None
    """Someone is needed: why."""
    interrupted: bool = False
    """A person ended it."""
    ending: dict[str, Any] | None = None
    """Arguments of the call that ended the work; None: it ended otherwise."""


class Again(msgspec.Struct, frozen=True):
    """These works begin, beside those that still run; the loop is asked again as soon as one of them ends."""

    works: list[Work]
    within: float | None = None
    """It is asked again after so many seconds at the latest; None: only then."""


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do until a command arrives, or for so many seconds."""

    seconds: float | None
    """None: until a command of the person."""
    why: str
    sleep: Sleeping | None = None
    """The run sleeps meanwhile, visibly, and can be woken; None: it only waits."""


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The run ends with this reason. `wrap_up`: a last call without tools may state what is known."""

    reason: Reason
    detail: str
    suspect: bool = False
    """All that is left is a suspect check: a person who is there is asked whether to accept it."""
    wrap_up: bool = False
    retryable: bool = False
    complete: bool | None = None
    """Whether the work is complete; None: as the reason says."""


class Confirm(msgspec.Struct, frozen=True):
    """The predicates hold: the result has to be confirmed in a clean checkout before the run may end."""


Decision = Again | Wait | Confirm | Finish
