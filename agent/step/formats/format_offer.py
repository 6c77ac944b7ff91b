"""Offer a file format in a chat whose model writes code, or explains calls, but makes none (docs/decisions/0038)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...protocol import AUTO_FORMAT, CHAT_FORMATS, FILE_FORMATS, EditFormatOffered, FileFormat, LoopKind
from .chat_edits import ChatEdits
from .choose_format import FIRST, answers_without_calls, explains_a_call, format_of_model

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

_ENOUGH = 2
"""Number of answers with code that would be an edit, or with a call as an example, after which a format is offered."""


def offer_at_start(ctx: RunContext) -> None:
    """Record the offer of a file format in a chat whose model is small, as its server says."""
    spec = ctx.facts.spec
    is_left_open = spec.loop is LoopKind.CHAT and spec.edit_format == AUTO_FORMAT
    if is_left_open and format_of_model(ctx.models.current)[0] in FILE_FORMATS:
        ctx.events.record(EditFormatOffered(format=_fitting(ctx, []), answers=0))


async def offer_format(ctx: RunContext, events: Events) -> None:
    """Record the offer of a file format, once in a chat, if the model writes what would be edits or calls.

    That is code that would be an edit, or a call that the answer only explains; and no call may have worked.
    """
    answers, edits = ctx.facts.answers, ctx.edits
    if not isinstance(edits, ChatEdits) or answers.format in FILE_FORMATS or answers.is_offered:
        return
    said = answers_without_calls(ctx.facts)
    quoting, code = [text for text in said if explains_a_call(text)], [text for text in said if "```" in text]
    if max(len(quoting), len(code)) < _ENOUGH:
        return
    found = await asyncio.to_thread(lambda: [paths for text in code if (paths := edits.edited_by(text))])
    if max(len(quoting), len(found)) >= _ENOUGH:
        form = _fitting(ctx, found[-1] if found else [])
        events.record(EditFormatOffered(format=form, answers=max(len(quoting), len(found))))


def _fitting(ctx: RunContext, paths: list[str]) -> FileFormat:
    """Return the format that this model wrote before on its server, or the one that fits the files."""
    served = ctx.models.current.served
    if served is not None and served.edit_format in CHAT_FORMATS:
        return served.edit_format
    return FIRST if paths and all(path.endswith((".py", ".pyi")) for path in paths) else "whole"
