"""Show the edit format, the results of answers in it, and restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import BY_TOOLS, NO_BASE, AnswerRead, EditFormatChosen, EditFormatOffered, Restarted, Undone
from ....protocol.text.counts import plural
from .change_blocks import note

if TYPE_CHECKING:
    from ....protocol import FileFormat, Stamped
    from ..view_state import ViewState

Answered = EditFormatChosen | AnswerRead | Restarted | EditFormatOffered
ANSWERS = (EditFormatChosen, AnswerRead, Restarted, EditFormatOffered)
"""The events of this module."""


def show_answers(state: ViewState, stamped: Stamped, event: Answered) -> None:
    """Add the line of the event, if it has one; keep the format and the number of restarts."""
    match event:
        case Restarted(number=number, format=form, why=why):
            state.restarts, state.plan = number, []
            if form != state.edit_format:
                state.edit_format, state.edit_format_why = form, why
        case EditFormatChosen(format=form, why=why):
            state.edit_format, state.edit_format_why = form, why
        case AnswerRead() | EditFormatOffered():
            pass
    if words := answer_words(event):
        note(state, stamped, words, detail="\n".join(event.notes) if isinstance(event, AnswerRead) else "")


def answer_words(event: Answered) -> str:
    """Return the line about an event, or empty if there is nothing to say, because the change itself is shown."""
    match event:
        case EditFormatOffered(format=form, answers=0):
            return f"a model of this size may call no tool: {_after(form)}"
        case EditFormatOffered(format=form):
            return f"the model calls no tool: {_after(form)}"
        case EditFormatChosen(format=form, why=why):
            return f"edit format: {form}; {why}"
        case AnswerRead(problem=problem) if problem:
            place = f" (part {event.part} of {event.parts}, line {event.line})" if event.part else ""
            return f"answer {event.number}{place} is not tried: {problem}"
        case AnswerRead():
            return ""
        case Restarted(format=form) if form == BY_TOOLS:
            where = f"where {plural(event.kept, 'test')} passed" if event.kept else "from the start"
            return f"try {event.number + 1} starts over with tools {where}: {event.why}"
        case Restarted(part=part) if part:
            return f"try {event.number + 1} asks for part {part} alone, temperature {event.temperature:g}: {event.why}"
        case Restarted():
            begins = "the start" if event.base == NO_BASE else f"answer {event.base}"
            return f"try {event.number + 1} starts over from {begins}, temperature {event.temperature:g}: {event.why}"


def _after(form: FileFormat) -> str:
    return f"after /format {form} it answers with code, each edit for you to decide"


def is_taken_back(event: Undone) -> bool:
    """Return whether the run itself took back an answer. Then the line about the restart shows it."""
    return event.by == "restart" and not event.kept
