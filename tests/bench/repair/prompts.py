"""The prompts of the ablation: those of the product, with the factors that it varies. Does no I/O."""

from __future__ import annotations

from typing import Literal

from rundry.agent.protocol import FILE_FORMATS, EditFormat, FileFormat
from rundry.agent.step.formats.format_words import FILE_HEAD, instruction, try_message
from rundry.agent.step.formats.read_answer import ShownFile

Variant = Literal["code", "cause", "test"]
"""Answer with code only; first with one sentence on the cause; the failing test instead of its output."""

FORMATS: tuple[EditFormat, ...] = (*FILE_FORMATS, "tools")
SYSTEM = (
    "You change programs so that their checks pass. The tests are right. Change as little as possible, and keep "
    "comments and docstrings."
)
_CAUSE = "First write one sentence: what is expected, what happens, and which line is wrong. Then the answer."
_TEST = 2_400

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": text,
            "parameters": {
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields},
                "required": fields,
            },
        },
    }
    for name, text, fields in (
        ("edit_file", "Replace old_text, which must occur once, by new_text.", ["path", "old_text", "new_text"]),
        ("write_file", "Replace the whole content of a file.", ["path", "content"]),
    )
]


def first_prompt(
    form: EditFormat, variant: Variant, shown: ShownFile, failure: str, test: str, tried: list[str], problem: str
) -> str:
    """Return the message of a try. All before `tried` is the same in each try on the same program."""
    excerpt = f"{shown.path} has a bug.\n\n{FILE_HEAD}{shown.path}`:\n```\n{shown.text}```"
    fails = (
        f"This test fails:\n\n```python\n{test[:_TEST]}```" if variant == "test" else f"Its tests fail:\n\n{failure}"
    )
    cause = f"{_CAUSE}\n\n" if variant == "cause" and form != "constrained" else ""
    asked = try_message(as_file_format(form), shown, excerpt, fails, tried, problem)
    kept = asked.removesuffix(instruction(as_file_format(form), shown))
    return f"{kept}{cause}{asked_for(form, shown)}"


def next_prompt(form: EditFormat, shown: ShownFile, problem: str, failure: str) -> str:
    """Return the message that continues a conversation after an answer that did not repair the program."""
    said = (
        f"That answer cannot be used: {problem}" if problem else f"With that change the tests still fail:\n\n{failure}"
    )
    return f"{said}\n\n{asked_for(form, shown)}"


def asked_for(form: EditFormat, shown: ShownFile) -> str:
    """Return how the model is asked to answer."""
    if form == "tools":
        return f"Call edit_file or write_file with the path {shown.path}."
    return instruction(as_file_format(form), shown)


def as_file_format(form: EditFormat) -> FileFormat:
    """Return the file format as whose answer an answer is read; calls of tools are read like JSON."""
    return next((one for one in FILE_FORMATS if one == form), "constrained")
