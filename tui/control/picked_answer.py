"""Read the answer to a question of the model. Does not import textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rundry.agent import QuestionAsked


def picked_option(question: QuestionAsked | None, text: str) -> str:
    """Return the option of the question that a text such as `2` picks, or the text itself."""
    if question is not None and text.isdigit() and 1 <= int(text) <= len(question.options):
        return question.options[int(text) - 1]
    return text
