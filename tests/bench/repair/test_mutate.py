"""Seeded mistakes in programs: each changes one place of the source, and a task gets one that its tests notice."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path

import pytest
from bench.repair import collect, mutate
from bench.repair.mutate import mutations
from bench.repair.tasks import Task

SOURCE = '''"""Größen."""

LIMIT = 3 + 4


def pick(values: list[int], first: int, last=2):
    """Pick 1 + 1 of them."""
    größe = "ä" * first  # a + comment
    if not values and first <= last:
        return []
    total = (first  # + not this one
             + last)
    total += values[first]
    return f"{total + 1}", range(first), max(total, last), values[1:last], first is not last


class Box:
    def full(self, size):
        return size in (1, 2) or True
'''


def test_each_mistake_changes_one_place_and_leaves_a_program():
    found = mutations(SOURCE)
    assert {one.kind for one in found} == {
        "operator",
        "constant",
        "off by one",
        "swapped arguments",
        "dropped not",
        "wrong variable",
    }
    for one in found:
        changed, before = one.apply(SOURCE).encode(), SOURCE.encode()
        assert changed[: one.start] == before[: one.start] and changed.endswith(before[one.end :])
        assert before[one.start : one.end].decode() == one.old
        assert ast.dump(ast.parse(one.apply(SOURCE))) != ast.dump(ast.parse(SOURCE))
    assert len({(one.start, one.end, one.new) for one in found}) == len(found)


@pytest.mark.parametrize(
    ("kind", "function", "before", "after"),
    [
        ("operator", "pick", '"ä" * first', '"ä" + first'),
        ("operator", "pick", "             + last)", "             - last)"),
        ("operator", "pick", "total += values", "total -= values"),
        ("operator", "pick", "first <= last", "first < last"),
        ("operator", "pick", "first is not last", "first is last"),
        ("operator", "pick", "values and first", "values or first"),
        ("operator", "Box.full", "size in (1", "size not in (1"),
        ("dropped not", "pick", "if not values", "if values"),
        ("off by one", "pick", "range(first)", "range(first - 1)"),
        ("off by one", "pick", "values[first]", "values[first + 1]"),
        ("constant", "pick", "values[1:last]", "values[0:last]"),
        ("constant", "Box.full", "or True", "or False"),
        ("swapped arguments", "pick", "max(total, last)", "max(last, total)"),
        ("wrong variable", "pick", "first is not", "größe is not"),
    ],
)
def test_a_mistake_of_each_kind_is_found(kind: str, function: str, before: str, after: str):
    changed = [one.apply(SOURCE) for one in mutations(SOURCE) if (one.kind, one.function) == (kind, function)]
    assert SOURCE.replace(before, after) in changed


@pytest.mark.parametrize("place", ["LIMIT = 3 + 4", "{total + 1}", "1 + 1 of", "list[int]", "last=2", "+ not this"])
def test_nothing_outside_of_the_bodies_of_functions_is_changed(place: str):
    start = SOURCE.encode().index(place.encode())
    assert not [one for one in mutations(SOURCE) if start <= one.start < start + len(place.encode())]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Two programs that pass their tests: one is well tested, the tests of the other notice nothing."""
    body = "\n\ndef add(a, b):\n    return a + b\n" + "\n# comment" * 30 + "\n"
    for name, test in {"sums": "assert add(2, 3) == 5", "blind": "assert add"}.items():
        (tmp_path / "programs" / name).mkdir(parents=True)
        (tmp_path / f"programs/{name}/{name}.py").write_text(body)
        text = f"from {name} import add\n\n\ndef test_add():\n    {test}\n"
        (tmp_path / f"programs/{name}/test_{name}.py").write_text(text)
    return tmp_path / "programs"


def test_a_task_gets_a_mistake_that_its_tests_notice_and_the_same_with_the_same_seed(programs: Path, tmp_path: Path):
    sums = Task(programs / "sums")
    mutation = mutate.break_program(sums, random.Random(1))
    assert mutation is not None and mutation == mutate.break_program(sums, random.Random(1))
    assert not sums.check(mutation.apply(sums.program))[0] and sums.check(sums.program)[0]
    mutate.write_task(sums, mutation, tmp_path / "out")
    made = Task(tmp_path / "out/sums")
    assert made.program == mutation.apply(sums.program) and made.test == sums.test
    assert json.loads((tmp_path / "out/mutations.jsonl").read_text())["task"] == "sums"


def test_a_program_whose_tests_notice_nothing_is_left_out(programs: Path):
    assert mutate.break_program(Task(programs / "blind"), random.Random(1)) is None


def test_a_module_of_a_package_stands_alone_with_its_tests(tmp_path: Path):
    source = tmp_path / "sdist/tally"
    tests = tmp_path / "sdist/tests"
    source.mkdir(parents=True)
    tests.mkdir()
    (source / "__init__.py").write_text("from .count import count\nfrom .abc import one\n")
    (source / "abc.py").write_text("def one():\n    return 1\n")
    (source / "count.py").write_text(
        "from .abc import one\n\n\ndef count(values):\n    return sum(one() for _ in values)\n"
    )
    (tests / "__init__.py").write_text("VALUES = [4, 5]\n")
    (tests / "test_count.py").write_text(
        "import tally\nfrom . import VALUES\n\n\ndef test_count():\n    assert tally.count(VALUES) == 2\n"
    )
    collect.package(source, tmp_path / "out")
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["count"]
    task = Task(tmp_path / "out/count")
    assert task.program == (source / "count.py").read_text()
    assert task.check(task.program)[0]
    assert not task.check(task.program.replace("sum(", "len("))[0]


def test_an_exercise_becomes_a_task(tmp_path: Path):
    folder = tmp_path / "exercises/practice/two-fer"
    (folder / ".meta").mkdir(parents=True)
    files = {"solution": ["two_fer.py"], "test": ["two_fer_test.py"], "example": [".meta/example.py"]}
    (folder / ".meta/config.json").write_text(json.dumps({"files": files}))
    (folder / ".meta/example.py").write_text("def two_fer():\n    return 1\n")
    (folder / "two_fer_test.py").write_text(
        "from two_fer import two_fer\n\n\ndef test_two_fer():\n    assert two_fer() == 1\n"
    )
    collect.exercism(tmp_path, tmp_path / "out")
    task = Task(tmp_path / "out/two_fer")
    assert task.check(task.program)[0]
