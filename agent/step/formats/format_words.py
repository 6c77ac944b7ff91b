"""Texts of the file formats: what the program asks for, and the message of one try."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

from .read_answer import ShownFile

if TYPE_CHECKING:
    from ...protocol import FileFormat

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"cause": {"type": "string"}, "old_text": {"type": "string"}, "new_text": {"type": "string"}},
    "required": ["cause", "old_text", "new_text"],
    "additionalProperties": False,
}
"""Schema of a constrained answer: the cause comes first, so that the model thinks before it writes the edit."""
FILE_HEAD = "The file `"
MOST_TEST = 600
"""Tokens of the failing test, where it is shown instead of the output."""
_MOST_TRIED = 5
_FAILURE = 1_200
"""Characters of a check's output that are shown, about 400 tokens."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_TELLING = re.compile(
    r"^(E\s|>\s|_{3,} .* _{3,}|FAILED|ERROR|FAIL:|Traceback|\s+File \"|.*\bError\b|.*\bassert|.*\b(expected|actual|got"
    r"|left|right|want)\b|---|\+\+\+|not ok|\s+at )",
    re.IGNORECASE,
)
_LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "rb": "ruby",
    "sh": "bash",
}


def instruction(form: FileFormat, shown: ShownFile) -> str:
    """Return how the model is asked to answer."""
    fence = f"```{language(shown.path)}"
    if shown.is_new:
        if form == "constrained":
            return 'Reply with JSON: the cause, "old_text": "", and as new_text the whole text of the file.'
        return f"Reply with the whole text of the file in one {fence} block."
    match form:
        case "whole":
            return f"Reply with the whole corrected file in one {fence} block."
        case "functions":
            return f"Reply with the complete new text of each function that you change, in one {fence} block."
        case "blocks":
            return (
                "Reply with one or more edits, each exactly in this form:\n<<<<<<< SEARCH\n"
                "lines as they are in the file\n=======\nthe new lines\n>>>>>>> REPLACE"
            )
        case "constrained":
            return "Reply with JSON: the cause, the exact old_text (it must occur once in the file), and the new_text."
        case _:
            assert_never(form)


def language(path: str) -> str:
    """Return the word after the fence for a file."""
    ending = path.rpartition(".")[2] if "." in path else ""
    return _LANGUAGES.get(ending, ending)


LONGEST_INSTRUCTION = instruction("blocks", ShownFile("", ""))
"""The longest instruction, to compute the size of a prompt."""


def try_message(
    form: FileFormat, shown: ShownFile, excerpt: str, failure: str, tried: Sequence[str], problem: str
) -> str:
    """Return the message of one try. All before `failure` is the same for each try on the same files.

    `excerpt`: the shown lines with their heading. `problem`: why the last answer could not be used; may be empty.
    """
    parts = [excerpt, failure]
    if tried:
        rows = list(dict.fromkeys(tried))[-_MOST_TRIED:]
        parts.append("Changes that were tried did not help; they led to:\n" + "\n".join(f"- {row}" for row in rows))
    if problem:
        parts.append(f"Your last answer could not be used: {problem}")
    return "\n\n".join(part for part in (*parts, instruction(form, shown)) if part)


def part_message(shown: ShownFile, excerpt: str, failure: str, part: str) -> str:
    """Return the message of a try that asks for one part of the file. All before the part is the same for each part."""
    marks, name = "````" if "```" in part else "```", language(shown.path)
    wanted = f"Reply with the correct text of this part only, in one ```{name} block."
    return f"{excerpt}\n\n{failure}\n\nThis part is wrong:\n{marks}{name}\n{part}\n{marks}\n{wanted}"


def first_failure(output: str) -> str:
    """Return the lines of a check's output that show its first failure, without addresses of objects."""
    lines = output.strip().splitlines()
    telling = [line for line in lines if _TELLING.match(line)]
    shown = "\n".join(telling if len(telling) > 1 else lines[-15:])
    return _ADDRESS.sub("0x...", shown)[:_FAILURE]


def last_line(output: str) -> str:
    """Return the one line of a check's output that says what an answer led to."""
    lines = first_failure(output).splitlines()
    errors = [line for line in lines if line.startswith("E ")] or lines
    return errors[0].removeprefix("E").strip()[:160] if errors else ""
