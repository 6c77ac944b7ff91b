"""Do one work order from start to end: context, model call, tool calls, result."""

from __future__ import annotations

from .checks.feedback import feedback, unconfirmed
from .checks.verify import verify
from .constrained import NOTHING
from .model_call.images_shown import accepts_images, shown_to
from .model_call.lost import charge_lost_calls
from .model_call.summarise import NotSummarised, summarise
from .model_call.wrap_up import wrap_up
from .observe import hint
from .perform import perform
from .prompt import instructions, system_prompt
from .resources.activity import PersonInterrupted
from .resources.context import RunContext
from .tool_calls.command_changes import file_changed, note_lost_command, settle_lost_command
from .tool_calls.perform_calls import OVER_QUOTA, perform_calls

__all__ = [
    "NOTHING",
    "OVER_QUOTA",
    "NotSummarised",
    "PersonInterrupted",
    "RunContext",
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
