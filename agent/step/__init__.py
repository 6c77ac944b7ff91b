"""One work order end to end: context, model call, tool calls, result."""

from __future__ import annotations

from .act import OVER_QUOTA, perform_calls
from .commands import file_changed, note_lost_command, settle_lost_command
from .constrained import NOTHING
from .feedback import feedback, unconfirmed
from .kit import Kit, PersonInterrupted
from .lost import charge_lost_calls
from .observe import hint
from .perform import perform
from .prompt import instructions, system_prompt
from .seen import accepts_images, shown_to
from .summarise import NotSummarised, summarise
from .verify import verify
from .wrap_up import wrap_up

__all__ = [
    "NOTHING",
    "OVER_QUOTA",
    "Kit",
    "NotSummarised",
    "PersonInterrupted",
    "accepts_images",
    "charge_lost_calls",
    "feedback",
    "file_changed",
    "hint",
    "instructions",
    "note_lost_command",
    "perform",
    "perform_calls",
    "settle_lost_command",
    "shown_to",
    "summarise",
    "system_prompt",
    "unconfirmed",
    "verify",
    "wrap_up",
]
