"""Offer a file format in a chat whose model writes code, or explains calls, but makes none (docs/decisions/0038)."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from ..protocol import CHAT_FORMATS, FILE_FORMATS, EditFormatOffered, FileFormat
from .chat_edits import ChatEdits
from .edit_formats.choice import FIRST, answers_without_calls

if TYPE_CHECKING:
    from ..protocol import Record
    from .resources.context import RunContext

_ENOUGH = 2
"""Answers with code that would be an edit, or with a call as an example, from which on a format is offered."""
_QUOTED = re.compile(r'\{\s*"name"\s*:\s*"\w+"\s*,\s*"arguments"\s*:')
"""A call that an answer explains instead of making it."""


async def offer_format(ctx: RunContext, record: Record) -> None:
    """Record the offer of a file format, once in a chat, if the model writes what would be edits or calls.

    That is code that would be an edit, or a call that the answer only explains; and no call may have worked.
    """
    answers, edits = ctx.facts.answers, ctx.edits
    if not isinstance(edits, ChatEdits) or answers.format in FILE_FORMATS or answers.is_offered:
        return
    said = answers_without_calls(ctx.facts)
    quoting, code = [text for text in said if _QUOTED.search(text)], [text for text in said if "```" in text]
    if max(len(quoting), len(code)) < _ENOUGH:
        return
    found = await asyncio.to_thread(lambda: [paths for text in code if (paths := edits.edited_by(text))])
    if max(len(quoting), len(found)) >= _ENOUGH:
        form = _fitting(ctx, found[-1] if found else [])
        record(EditFormatOffered(format=form, answers=max(len(quoting), len(found))))


def _fitting(ctx: RunContext, paths: list[str]) -> FileFormat:
    """Return the format that this model wrote before on its server, or the one that fits the files."""
    served = ctx.models.current.served
    if served is not None and served.edit_format in CHAT_FORMATS:
        return served.edit_format
    return FIRST if paths and all(path.endswith((".py", ".pyi")) for path in paths) else "whole"
