"""Do one work order from start to end: context, model call, tool calls, result."""

from __future__ import annotations

from .checks.feedback import feedback, unconfirmed_feedback
from .checks.verify import verify
from .constrained import NO_EDIT
from .detect_stalls import stall_hint
from .model_call.images_shown import accepts_images, with_accepted_images
from .model_call.lost import charge_lost_calls
from .model_call.summarise import NotSummarised, summarise
from .model_call.wrap_up import wrap_up
from .perform import perform
from .prompt import instructions, system_prompt
from .resources.activity import PersonInterrupted
from .resources.context import RunContext
from .tool_calls.command_changes import check_lost_command, file_changed, record_lost_command
from .tool_calls.perform_calls import OVER_QUOTA, resume_calls

__all__ = [
    "NO_EDIT",
    "OVER_QUOTA",
    "NotSummarised",
    "PersonInterrupted",
    "RunContext",
    "accepts_images",
    "charge_lost_calls",
    "check_lost_command",
    "feedback",
    "file_changed",
    "instructions",
    "perform",
    "record_lost_command",
    "resume_calls",
    "stall_hint",
    "summarise",
    "system_prompt",
    "unconfirmed_feedback",
    "verify",
    "with_accepted_images",
    "wrap_up",
]
