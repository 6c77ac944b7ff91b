"""The prompts of a repair: the task, the file, what fails, and how to answer. Does no I/O."""

from __future__ import annotations

import re
from typing import Literal

from .answers import Format

Variant = Literal["code", "cause", "test"]
"""Answer with code only; first with one sentence on the cause; the failing test instead of its output."""

SYSTEM = "You repair programs. The tests are right. Change as little as possible, and keep comments and docstrings."
_WISH: dict[Format, str] = {
    "whole": "Reply with the whole corrected file in one ```python block.",
    "functions": "Reply with the complete new text of each function that you change, in one ```python block.",
    "blocks": (
        "Reply with one or more edits, each exactly in this form:\n<<<<<<< SEARCH\nlines as they are in the file\n"
        "=======\nthe new lines\n>>>>>>> REPLACE"
    ),
    "tools": "Call edit_file or write_file with the path {name}.",
    "constrained": "Reply with JSON: the cause, the exact old_text (it must occur once in the file), and the new_text.",
}
_CAUSE = "First write one sentence: what is expected, what happens, and which line is wrong. Then the answer."
_FAILURE = 1_200
"""Characters of the output that are shown: about 400 tokens."""
_TEST = 2_400


def first_prompt(form: Format, variant: Variant, name: str, program: str, failure: str, test: str, tried: str) -> str:
    """Return the message of a try. All before `tried` is the same in each try on the same program."""
    shown = (
        f"This test fails:\n\n```python\n{test[:_TEST]}```" if variant == "test" else f"Its tests fail:\n\n{failure}"
    )
    wish = _WISH[form].format(name=name)
    if variant == "cause" and form != "constrained":
        wish = f"{_CAUSE} {wish}"
    return "\n\n".join(part for part in (f"{name} has a bug.", f"```python\n{program}```", shown, tried, wish) if part)


def next_prompt(form: Format, name: str, why: str, failure: str) -> str:
    """Return the message that continues a conversation after an answer that did not repair the program."""
    said = f"That answer cannot be used: {why}." if why else f"With that change the tests still fail:\n\n{failure}"
    return f"{said}\n\n{_WISH[form].format(name=name)}"


def tried_line(failures: list[str]) -> str:
    """Return what earlier tries led to, at most five lines."""
    rows = list(dict.fromkeys(failures))[-5:]
    return (
        "Changes that were tried did not help; they led to:\n" + "\n".join(f"- {row}" for row in rows) if rows else ""
    )


def excerpt(output: str) -> str:
    """Return the lines of pytest's output that show the first failure, without addresses of objects."""
    lines = [line for line in output.splitlines() if re.match(r"(E  |>  |FAILED|ERROR|_{3,} )", line)]
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", "\n".join(lines or output.splitlines()[-15:]))[:_FAILURE]
