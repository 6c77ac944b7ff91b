"""Offer a file format in a chat whose model writes code instead of calling tools (docs/decisions/0038)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..protocol import CHAT_FORMATS, FILE_FORMATS, EditFormatOffered, FileFormat
from .chat_edits import ChatEdits
from .edit_formats.choice import FIRST, code_answers

if TYPE_CHECKING:
    from ..protocol import Record
    from .resources.context import RunContext

_ENOUGH = 2
"""Answers with code that would be an edit, from which on a format is offered."""


async def offer_format(ctx: RunContext, record: Record) -> None:
    """Record the offer of a file format, once in a chat, if the model's code would be edits and no call worked."""
    answers, edits = ctx.facts.answers, ctx.edits
    if not isinstance(edits, ChatEdits) or answers.format in FILE_FORMATS or answers.is_offered:
        return
    said = code_answers(ctx.facts)
    if len(said) < _ENOUGH:
        return
    found = await asyncio.to_thread(lambda: [paths for text in said if (paths := edits.edited_by(text))])
    if len(found) >= _ENOUGH:
        record(EditFormatOffered(format=_fitting(ctx, found[-1]), answers=len(found)))


def _fitting(ctx: RunContext, paths: list[str]) -> FileFormat:
    """Return the format that this model wrote before on its server, or the one that fits the files."""
    served = ctx.models.current.served
    if served is not None and served.edit_format in CHAT_FORMATS:
        return served.edit_format
    return FIRST if all(path.endswith((".py", ".pyi")) for path in paths) else "whole"
