"""Parts of a file: which ones a model is asked for, and what an answer makes of one."""

from __future__ import annotations

import pytest

from rundry.agent.step.edit_formats.parts import MOST_PARTS, part_is_complete, parts_of, read_part, text_of
from rundry.agent.step.edit_formats.reading import ShownFile

TEXT = '''"""Find things."""

import os


def find(values, wanted):
    """Return the place."""
    for place, value in enumerate(
        values
    ):
        if value == wanted:
            return place
        elif value is None:
            pass
    return (
        -1
    )


def other(a):
    return a
'''
SHOWN = ShownFile("lib/find.py", TEXT)


def shown_parts(output: str = "", tests: str = "") -> list[str]:
    return [text_of(SHOWN, part).strip() for part in parts_of("lib/find.py", TEXT, output, tests)]


def test_the_parts_are_statements_and_the_heads_of_compound_ones():
    assert shown_parts(tests="assert find([1], 1) == 0") == [
        "for place, value in enumerate(\n        values\n    ):",
        "if value == wanted:",
        "return place",
        "elif value is None:",
        "return (\n        -1\n    )",
    ]


def test_what_the_output_names_comes_first_and_a_file_of_which_nothing_is_named_has_all_its_definitions():
    assert shown_parts(output='File "lib/find.py", line 12, in find')[0] == "return place"
    assert shown_parts()[-1] == "return a"


def test_another_language_has_lines_and_no_more_than_the_limit_near_the_line_that_is_named():
    text = "\n".join(["// head", "", *(f"let v{n} = {n};" for n in range(100)), "}"])
    parts = parts_of("a.js", text, "at a.js:60:3", "")
    assert len(parts) == MOST_PARTS and parts[0] == (59, 59)
    assert min(parts)[0] > 40 and max(parts)[0] < 80
    assert parts_of("a.js", "// one\n\n}\n", "", "") == []


@pytest.mark.parametrize(
    ("said", "became"),
    [
        ("```python\nif value != wanted:\n```", "        if value != wanted:"),
        ("if value != wanted:", "        if value != wanted:"),
        (
            "Here:\n```\n            if value != wanted:\n                return place\n```",
            "        if value != wanted:",
        ),
        ("```python\n        ):\n            if value != wanted:\n```", None),
        (
            "```python\nif value is wanted:\n    print(value)\n```",
            "        if value is wanted:\n            print(value)",
        ),
    ],
)
def test_an_answer_gets_the_indentation_of_the_part_and_lines_around_it_are_not_repeated(said: str, became: str | None):
    part = next(one for one in parts_of("lib/find.py", TEXT, "", "find") if "== wanted" in text_of(SHOWN, one))
    reading = read_part(said, SHOWN, part)
    if became is None:
        assert reading.text is None and "not valid Python" in reading.problem
        return
    assert reading.text is not None, reading.problem
    assert reading.text == TEXT.replace("        if value == wanted:", became)


def test_a_whole_definition_replaces_its_own_and_an_answer_without_a_change_or_code_is_none():
    part = parts_of("lib/find.py", TEXT, "", "other")[-1]
    whole = read_part("```python\ndef other(a):\n    return a + 1\n```", SHOWN, part)
    assert whole.text == TEXT.replace("return a\n", "return a + 1\n")
    same = read_part(f"```python\n{text_of(SHOWN, part)}\n```", SHOWN, part)
    assert same.text is None and same.is_same
    assert read_part("```python\n\n```", SHOWN, part).text is None


def test_an_answer_is_complete_at_the_end_of_its_block():
    assert part_is_complete("```python\nreturn a\n```")
    assert not part_is_complete("```python\nreturn a\n") and not part_is_complete("```")
