"""Work orders of a loop and their results. Plain data that can be sent to another process."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .budget import Exhausted, LimitName
from .events.answers import PromptVariant
from .events.finder_events import WorkKind
from .events.pass_events import Sleeping
from .events.step import PromptKind
from .evidence import LookFirst
from .outcome import Reason
from .spec import EditFormat
from .tools.traits import EndingTool

SUMMARY_WORK = "compact"
"""The conversation in which `/compact` asks for a summary. Its events do not belong to the run's own."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One work order: a model call with its tools, repeated up to `step_cap` times."""

    work: str | None = None
    """Name of the conversation: `lens:taint`, `sceptic:KEY#2`, `item:KEY`. None means the run's main conversation."""
    kind: WorkKind = "main"
    about: str = ""
    """Key of the item or finding, or name of the lens."""
    system: str | None = None
    """The system prompt of a new conversation. None means the run's system prompt."""
    prompt: str | None = None
    """What the program first sends to the model (a failed check, a nudge, a hint), if anything."""
    prompt_kind: PromptKind = "task"
    tools: list[str] | None = None
    """Names of the available tools. None means all tools of the run."""
    model: str | None = None
    """The model to use. None means the run's model."""
    step_cap: int = 1
    ends_with: EndingTool | None = None
    """Name of the tool whose accepted call ends the work."""


class WorkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a work order. The journal records the details; this is what the loop needs immediately."""

    work: str | None = None
    steps: int = 0
    fault: str | None = None
    """Why the work failed, or None. Failed work differs from work that found nothing."""
    retryable: bool = False
    """A later attempt may succeed."""
    stalled: bool = False
    """The work failed because the model repeated itself, so other work is not affected."""
    exhausted: Exhausted | None = None
    """The limit that did not admit the next call. None means that the call was admitted."""
    handoff: str | None = None
    """Why a person or another model is needed, if so."""
    interrupted: bool = False
    """A person interrupted the work."""
    ending: dict[str, Any] | None = None
    """Arguments of the call that ended the work. None means that it ended in another way."""


class Again(msgspec.Struct, frozen=True):
    """Start these work orders in addition to the running ones. The loop is asked again as soon as one of them ends."""

    works: list[Work]
    within: float | None = None
    """Ask the loop again after this many seconds at the latest. With None, only when a work order ends."""


class Wait(msgspec.Struct, frozen=True):
    """Wait for a command, or for the given number of seconds."""

    seconds: float | None
    """None means that the loop waits until the person sends a command."""
    why: Literal["message", "clock", "retry"]
    sleep: Sleeping | None = None
    """Event of a visible sleep from which the run can be woken. None means that the run only waits."""


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """End the run with this reason. `wrap_up`: a last call without tools may summarize what is known."""

    reason: Reason
    detail: str
    suspect: bool = False
    """Only suspect checks are left: if a person is present, the run asks whether to accept them."""
    judged: bool = False
    """The judge does not let the result pass: if a person is present, the run asks about what it rests on."""
    wrap_up: bool = False
    retryable: bool = False
    limit: LimitName | None = None
    """With the reason `budget`: the limit that ends the run, or None if not one alone."""
    complete: bool | None = None
    """Whether the work is complete. None means that the reason decides."""
    help: list[str] = []
    """What a person can add to the command line of the next run: `--scope PATH`, `--setup LINE`."""
    look_first: list[LookFirst] = []
    """More of it, which accepts changes of what decides the check."""


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """Take back the edits of the newest answer, and let the next one begin from a base."""

    why: str
    """What the newest answer led to, in words for the person."""
    base: int
    """The answer whose text the next one gets; `NO_BASE`: the files as they are."""
    format: EditFormat
    temperature: float = 0.0
    variant: PromptVariant = "output"
    part: int = 0
    since: int = 0
    """With tools: the position in the journal after which edits are taken back."""
    kept: int = 0
    """With tools: the tests that pass there."""


class Stalled(msgspec.Struct, frozen=True):
    """The run repeats itself: what follows is the person's choice for stalls."""

    signature: str
    """What repeats, in words for the person."""


class Confirm(msgspec.Struct, frozen=True):
    """The predicates hold: confirm the result in a clean checkout before the run ends."""


class JudgeResult(msgspec.Struct, frozen=True):
    """The predicates hold: judge the result without the changes that nobody decided on, before the run ends."""


Decision = Again | Wait | Restart | Stalled | Confirm | JudgeResult | Finish
