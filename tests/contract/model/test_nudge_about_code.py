"""An answer with code and without a call gets a nudge that names the file and the tool."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.in_process.headless_run import play
from fakes.project import CHECK, FIX_BOTH
from fakes.server import ScriptedServer
from fakes.turns import say
from fakes.wire import text_of

NAMED = "The file calc/core.py:\n```python\nx = 1\n```"
LANGUAGE = "Here.\n```python calc/core.py\nx = 1\n```"
COMMENT = "Here.\n```python\n# project/calc/core.py\nx = 1\n```"
DEFINED = (
    "I fix it:\n\n```python\ndef add(a, b):\n    return a + b\n```\nand test it:\n```\ndef test_add():\n    pass\n```"
)
UNCLOSED = "```\ndef add(a, b):\n    return a + b\n"
PLAIN = "You stopped without calling a tool, so nothing was done."


async def nudges(runs: Path, project: Path, *answers: str) -> list[str]:
    with ScriptedServer([*map(say, answers), FIX_BOTH]) as server:
        ran = await play(runs, server, project, until=[CHECK])
        assert ran.outcome["reason"] == "done", ran.story()
        said = ["\n".join(text_of(m) for m in r.messages[-2:] if m["role"] == "user") for r in server.requests]
    return said[1 : len(answers) + 1]


@pytest.mark.parametrize("answer", [NAMED, LANGUAGE, COMMENT, DEFINED, UNCLOSED])
async def test_the_nudge_names_the_file_of_the_code_and_the_tools(runs: Path, project: Path, answer: str):
    (said,) = await nudges(runs, project, answer)
    assert "calc/core.py" in said and "`edit_file`" in said and "`write_file`" in said
    assert PLAIN not in said


@pytest.mark.parametrize(
    "answer",
    [
        "It is done.",
        "```python\nprint(1)\n```",
        "```\ndef nowhere():\n    pass\n```",
        "tests/test_core.py:\n```\nx\n```",
        "../outside.py:\n```\nx\n```",
        "The function `add` in calc/core.py is wrong.",
    ],
)
async def test_without_a_certain_file_the_nudge_stays_general(runs: Path, project: Path, answer: str):
    (said,) = await nudges(runs, project, answer)
    assert PLAIN in said and "was not written" not in said


async def test_a_definition_in_two_files_names_none(runs: Path, project: Path):
    (project / "calc/other.py").write_text("def add(a, b):\n    return a\n")
    (said,) = await nudges(runs, project, UNCLOSED)
    assert PLAIN in said


async def test_an_answer_without_code_after_one_with_code_gets_no_reminder_about_code(runs: Path, project: Path):
    first, second = await nudges(runs, project, DEFINED, "Really done.")
    assert "was not written" in first and PLAIN in second
