"""Parts of a file: which ones a model is asked for, and what an answer makes of one."""

from __future__ import annotations

import pytest

from rundry.agent.step.formats.file_excerpt import named_lines
from rundry.agent.step.formats.file_parts import MOST_PARTS, part_is_complete, parts_of, read_part, text_of
from rundry.agent.step.formats.read_answer import ShownFile

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
    part = parts_of("lib/find.py", TEXT, "", "other")[-1]

    def is_complete(said: str) -> bool:
        return part_is_complete(said, SHOWN, part)

    assert is_complete("```python\nreturn a + 1\n```") and is_complete("```python\nreturn a\n```")
    assert not is_complete("```python\nreturn a\n") and not is_complete("```")
    assert not is_complete("<think>\nIs it\n```python\nreturn a + 1\n```")
    assert not is_complete("```python\nreturn (a +\n```")


def test_a_head_with_another_body_replaces_the_body_and_one_with_the_same_body_keeps_all():
    text = "def f(n):\n    if n < 0:\n        return 0\n    return n\n"
    shown = ShownFile("f.py", text)
    part = parts_of("f.py", text, "", "")[0]
    other = read_part("```python\nif n <= 0:\n    return 1\n```", shown, part)
    assert other.text == "def f(n):\n    if n <= 0:\n        return 1\n    return n\n"
    same = read_part("```python\nif n <= 0:\n    return 0\n```", shown, part)
    assert same.text == "def f(n):\n    if n <= 0:\n        return 0\n    return n\n"


def test_the_head_of_a_compound_statement_ends_at_its_colon():
    text = "def f(a):\n    with a:\n        # keep\n        @dec\n        def g():\n            pass\n    match a:\n"
    text += "        case 1:\n            a = 2\n    if (a and\n        a > 1):  # why\n        a = 3\n"
    shown = ShownFile("f.py", text)
    assert [text_of(shown, part).strip() for part in parts_of("f.py", text, "", "")] == [
        "with a:",
        "match a:",
        "a = 2",
        "if (a and\n        a > 1):  # why",
        "a = 3",
    ]


def test_a_statement_with_a_text_of_several_lines_is_not_asked_for():
    text = 'def f():\n    a = """\nx\n"""\n    if a == "b":\n        return f"""{a}\n"""\n    return a\n'
    assert [part[0] for part in parts_of("f.py", text, "", "")] == [4, 7]


@pytest.mark.parametrize(
    "said", ["I see no mistake in this line.", "```\nlet v1 = 2;\n", '{"old_text": "a", "new_text": "b"}']
)
def test_outside_of_python_only_a_block_with_its_end_is_read(said: str):
    text = "let v0 = 0;\nlet v1 = 1;\n"
    shown = ShownFile("a.js", text)
    assert read_part(said, shown, (1, 1)).text is None
    assert read_part("```js\nlet v1 = 2;\n```", shown, (1, 1)).text == "let v0 = 0;\nlet v1 = 2;\n"
    ruby = ShownFile("a.rb", "def add(a, b)\n  a - b\nend\n")
    assert read_part("```ruby\ndef add(a, c)\n```", ruby, (0, 0)).text == "def add(a, c)\n  a - b\nend\n"


def test_edits_in_another_format_are_read_as_such():
    part = parts_of("lib/find.py", TEXT, "", "other")[-1]
    block = "<<<<<<< SEARCH\n    return a\n=======\n    return a + 1\n>>>>>>> REPLACE"
    assert read_part(block, SHOWN, part).text == TEXT.replace("return a\n", "return a + 1\n")


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ('File "lib/find.py", line 12, in find', [11]),
        ('File "/home/a/project/lib/find.py", line 12', [11]),
        ("lib/find.py:12: AssertionError", [11]),
        ("find.py:12:3", [11]),
        ("lib/find.py(12,3): error", [11]),
        ("in lib/find.py on line 12", [11]),
        ("test_find.py:5: AssertionError", []),
        ("tests/lib/find.py.bak:5", []),
        ("/usr/lib/python3/site-packages/other/find.py:5", []),
        ("lib/find.py 3 passed", []),
    ],
)
def test_lines_are_those_of_the_file_and_not_of_one_with_a_similar_name(output: str, lines: list[int]):
    assert named_lines("lib/find.py", output) == lines
