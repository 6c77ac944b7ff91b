"""One work order end to end: context, model call, tool calls, result."""

from __future__ import annotations

from .act import perform_calls
from .kit import Kit, PersonInterrupted
from .perform import perform
from .prompt import system_prompt
from .verify import verify
from .wrap_up import wrap_up

__all__ = ["Kit", "PersonInterrupted", "perform", "perform_calls", "system_prompt", "verify", "wrap_up"]
