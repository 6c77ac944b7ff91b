"""The parts of a long file that a model is shown."""

from __future__ import annotations

from rundry.agent.step.formats.file_excerpt import choose_lines


def program(names: int = 40) -> str:
    rows = ["import math\n", "\n"]
    for number in range(names):
        rows += [
            f"def step_{number}(value):\n",
            *(f"    value += {number}\n" for _ in range(8)),
            "    return value\n\n",
        ]
    rows += ["def used(value):\n    return step_7(value) + math.pi\n\n"]
    rows += ["class Basket:\n", "    size = 0\n\n", "    def add(self, one):\n        self.size += one\n\n"]
    rows += ["    def total(self):\n        return self.size\n"]
    return "".join(rows)


TEXT = program()
LINES = TEXT.splitlines()


def shown(output: str, *, tests: str = "", limit: int = 400, text: str = TEXT, path: str = "long.py") -> str:
    parts = choose_lines(path, text, output, tests, count=lambda one: len(one.split()), limit=limit)
    rows = text.splitlines()
    assert parts == sorted(parts) and all(first <= last for first, last in parts)
    found = "\n".join(row for first, last in parts for row in rows[first : last + 1])
    assert len(found.split()) <= limit
    return found


def test_the_definition_with_the_line_of_the_failure_is_shown_whole():
    line = LINES.index("def step_20(value):") + 3
    found = shown(f"long.py:{line}: TypeError", limit=60)
    assert "def step_20" in found and found.count("    value += 20") == 8 and "def step_21" not in found
    assert found.startswith("import math")


def test_without_a_line_the_names_in_the_output_and_in_the_tests_decide():
    assert "def step_33" in shown("E  assert step_33(1) == 2", limit=60)
    assert "def step_12" in shown("1 failed", tests="from long import step_12\nassert step_12(1) == 2\n", limit=60)


def test_what_the_definition_calls_is_shown_too_if_there_is_space():
    found = shown("E  assert used(1) == 2")
    assert "def used" in found and "def step_7(" in found and "def step_8(" not in found


def test_a_method_comes_with_the_beginning_of_its_class():
    found = shown("in total\nE  assert Basket().total() == 2", limit=40)
    assert "class Basket:" in found and "def total" in found


def test_a_definition_that_is_too_long_and_a_text_without_definitions_are_shown_around_the_line():
    long = "def one():\n" + "    x = 1\n" * 300 + "    return x\n"
    found = shown("long.py:150: NameError", text=long, limit=60)
    assert len(found.splitlines()) == 20
    assert "row 150" in shown("long.txt:151", text="".join(f"row {n}\n" for n in range(500)), limit=60, path="long.txt")
    assert shown("nothing is named", text=long, limit=30, path="long.py").startswith("def one")
