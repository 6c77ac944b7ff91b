"""Events of file formats: the format, what each answer gave, starting over, and the offer of a format."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..spec import EditFormat, FileFormat
from .base import EventBase

NO_BASE = 0
"""As the number of a base: the files as they are, and not the text of an answer."""


PromptVariant = Literal["output", "test", "part"]
"""How a try asks: it shows the output of the failing check; the failing test instead; or the output, and it asks for
one part of the file alone."""

PART_TEMPERATURE = 1.0
"""Of an answer with one part: colder ones repeat the part as it is (docs/decisions/0038)."""


class EditFormatChosen(EventBase, frozen=True, kw_only=True):
    """From now on the model edits files in this format."""

    format: EditFormat
    why: str
    """The reason, in words for the person."""
    by: Literal["program", "person"] = "program"


class AnswerFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file as an answer wants it."""

    path: str
    before: str | None
    """Blob of its content when the answer was read, or None if the file did not exist."""
    after: str
    """Blob of its text."""


class AnswerRead(EventBase, frozen=True, kw_only=True):
    """What an answer in a file format gives: a try, or the reason why it gives none."""

    number: int
    """Number of the answer in the run, from 1."""
    format: FileFormat
    base: int
    """The answer whose text was shown; `NO_BASE`: the files as they were."""
    path: str
    """Path of the shown file."""
    problem: str = ""
    """Why the answer cannot be used, in words for the model. Empty means that it can."""
    same_as: int = 0
    """The earlier answer that gave the same program and was checked, or 0 if there is none."""
    digest: str = ""
    """Equal for answers that give the same program, or empty if the answer gives none."""
    files: list[AnswerFile] = []
    part: int = 0
    """The number of the part of the file that was asked for, from 1. 0 means the file."""
    parts: int = 0
    """Number of parts of the file, if one was asked for."""
    line: int = 0
    """The first line of that part, from 1."""
    notes: list[str] = []
    """What was kept or left out when the answer was read, one line each."""


class Restarted(EventBase, frozen=True, kw_only=True):
    """The run starts over: the edits of the last answer were undone, and the next answer begins from a base."""

    number: int
    """Number of the restart, from 1."""
    why: str
    """What the last answer led to, in words for the person."""
    base: int
    """The answer whose text the next one gets; `NO_BASE`: the files as they are."""
    format: EditFormat
    temperature: float = 0.0
    """Of the next answer in a file format."""
    variant: PromptVariant = "output"
    """How the next answer in a file format is asked for."""
    part: int = 0
    """The number of the part that is asked for, from 1."""
    kept: int = 0
    """With tools: the tests that pass in the state from which the run starts over."""


class EditFormatOffered(EventBase, frozen=True, kw_only=True):
    """In a chat the person is offered a file format, because the model is small, writes code or explains calls.

    Nothing changes by itself.
    """

    format: FileFormat
    answers: int
    """Number of answers whose code would be an edit, or that explain a call. 0 means that the model is small."""


AnswersEvent = EditFormatChosen | AnswerRead | Restarted | EditFormatOffered
"""The events of this module."""
