"""Answers of models, read as the new text of the shown file."""

from __future__ import annotations

import pytest

from rundry.agent.step.formats.read_answer import ShownFile, is_complete, read_answer

GCD = (
    "def gcd(a, b):\n    if b == 0:\n        return a\n    return gcd(a % b, b)\n\n\n" + '"""\nInput:\n    a, b\n"""\n'
)
SHOWN = ShownFile("gcd.py", GCD)
FIXED = GCD.replace("gcd(a % b, b)", "gcd(b, a % b)")
FENCE = "```"


@pytest.mark.parametrize(
    "said",
    [
        f"{FENCE}python\n{FIXED}{FENCE}",
        f"{FENCE}\n{FIXED}{FENCE}\nNow the tests pass.",
        f"Here:\n\n{FENCE}py\n{FIXED.partition(chr(34))[0]}{FENCE}\n\n{FENCE}python\ndef test_gcd():\n"
        f"    assert gcd(2, 4) == 2\n{FENCE}",
        f"<think>gcd(a % b, b) is wrong</think>{FENCE}python\n{FIXED}",
        FIXED,
        "<<<<<<< SEARCH\n    return gcd(a % b, b)\n=======\n    return gcd(b, a % b)\n>>>>>>> REPLACE",
        f"{FENCE}\n<<<<<<< gcd.py\n{GCD}=======\n{FIXED}>>>>>>> REPLACE\n{FENCE}",
        "<<<<<<< SEARCH\n    def gcd(a, b):\n\n        if b == 0:\n            return a\n"
        "        return gcd(a % b, b)\n"
        "=======\n    def gcd(a, b):\n        if b == 0:\n            return a\n        return gcd(b, a % b)\n"
        ">>>>>>> REPLACE",
        f"{FENCE}\n<<<<<<< gcd.py\n{FIXED}>>>>>>> REPLACE\n{FENCE}",
        f"{FENCE}diff\n--- a/gcd.py\n+++ b/gcd.py\n@@ -2,3 +2,3 @@\n     if b == 0:\n         return a\n"
        f"-    return gcd(a % b, b)\n"
        f"+    return gcd(b, a % b)\n{FENCE}",
        '{"cause": "order", "old_text": "return gcd(a % b, b)", "new_text": "return gcd(b, a % b)"}',
        '{"find": "return gcd(a % b, b)", "replace": "return gcd(b, a % b)", "done": false}',
        '<tools>\n'
        '{"name": "edit_file", "arguments": {"path": "gcd/gcd.py", "old_text": "return gcd(a % b, b)", "new_text": '
        '"return gcd(b, a % b)"}}\n</tools>',
        f"{FENCE}python\ndef gcd(a, b):\n    if b == 0:\n        return a\n    return gcd(b, a % b)\n\n\n"
        f"" + '"""\nInput:\n',
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["functions", "whole", "blocks", "constrained"])
def test_a_repair_is_read_however_it_is_written(said: str, form: str):
    reading = read_answer(form, said, SHOWN)  # pyright: ignore[reportArgumentType]
    assert reading.text == FIXED, reading


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("I would swap the arguments.", "no code"),
        (f"{FENCE}python\n{GCD}{FENCE}", "changes nothing"),
        (f"{FENCE}\n<<<<<<< gcd.py\n{GCD}>>>>>>> REPLACE\n{FENCE}", "changes nothing"),
        (
            "<<<<<<< SEARCH\ndef gcd(a, b):\n    return lcm(a)\n=======\ndef lcm(a):\n    return a\n>>>>>>> REPLACE",
            "not in the file",
        ),
        (
            f"{FENCE}python\ndef gcd(a, b):\n    # ... rest of the code\n    return gcd(b, a)\n{FENCE}",
            "leaves out code",
        ),
        (f"{FENCE}python\ndef gcd(a, b:\n    return a\n{FENCE}", "not valid Python in line 1"),
        (f"{FENCE}python\nprint(gcd(3, 5))\n{FENCE}", "none of its definitions"),
        ("<<<<<<< SEARCH\n    return lcm(a)\n=======\n    return a\n>>>>>>> REPLACE", "not in the file"),
        ('{"path": "test_gcd.py", "old_text": "assert gcd(3, 5) == 1", "new_text": "pass"}', "only gcd.py was shown"),
        ('{"path": "conftest.py", "content": "x = 1"}', "only gcd.py was shown"),
    ],
)
def test_what_is_not_a_candidate_says_why(said: str, problem: str):
    reading = read_answer("functions", said, SHOWN)
    assert reading.text is None and problem in reading.problem, reading


NOTES = ShownFile("NOTES.md", "# Notes\n\n- one\n- two\n- three\n- four\n- five\n- six\n")


def test_a_file_that_is_not_python_is_replaced_only_by_a_whole_one_like_it():
    new = NOTES.text.replace("three", "3")
    assert read_answer("whole", f"{FENCE}markdown\n{new}{FENCE}", NOTES).text == new
    assert "cut off" in read_answer("whole", f"{FENCE}markdown\n{new}", NOTES).problem
    assert "not NOTES.md" in read_answer("whole", f"{FENCE}sh\nls -l\n{FENCE}", NOTES).problem
    part = ShownFile("NOTES.md", NOTES.text, is_part=True)
    assert "Only a part" in read_answer("whole", f"{FENCE}markdown\n{new}{FENCE}", part).problem


def test_the_stream_may_end_where_the_definitions_do():
    said = f"{FENCE}python\n{FIXED}{FENCE}"
    ends = [at for at in range(len(said) + 1) if is_complete("functions", said[:at], SHOWN)]
    assert said[: ends[0]] == f"{FENCE}python\n" + FIXED.partition("Input")[0]
    quoted = f"This is wrong:\n{FENCE}python\n{GCD.partition(chr(34))[0]}{FENCE}\n"
    assert not any(is_complete("functions", quoted[:at], SHOWN) for at in range(len(quoted) + 1))
    assert not is_complete("blocks", said, SHOWN)
