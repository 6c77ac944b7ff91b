"""The model replaces only contents that it has read: lines of somebody else and uncommitted ones are not lost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.project import git

from rundry.agent.tools.read_contents import ReadContents
from rundry.agent.tools.tool_result import ToolResult

from .conftest import Bench

READ_IT = "Read it, then write it again with its lines. Nothing was changed."


@pytest.fixture
def bench(make_bench: Callable[..., Bench], tmp_path: Path) -> Bench:
    """A repository with a committed file, and a model that has read nothing."""
    root = tmp_path / "w"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("one\ntwo\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "First")
    return make_bench(contents=ReadContents())


async def call(bench: Bench, tool: str, **arguments: str) -> ToolResult:
    given = json.dumps(arguments)
    return await (bench.read(tool, given) if tool == "read_file" else bench.act(tool, given))


def by_the_user(bench: Bench, text: str, *, before_the_run: bool = False) -> None:
    (bench.root / "a.txt").write_text(text)
    at = time.time() - 100 if before_the_run else time.time() + 1
    os.utime(bench.root / "a.txt", (at, at))


async def test_a_file_as_it_was_committed_is_replaced_unread(bench: Bench):
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    assert (await call(bench, "write_file", path="a.txt", content="mine again\n")).ok, "it knows what it wrote"


@pytest.mark.parametrize("before_the_run", [False, True], ids=["during the run", "before the run"])
async def test_lines_of_the_user_that_the_model_never_read_are_not_replaced(bench: Bench, *, before_the_run: bool):
    by_the_user(bench, "one\nthe user's\n", before_the_run=before_the_run)
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    why = "has uncommitted lines" if before_the_run else "was changed since the run began"
    assert not result.ok and result.text == f"a.txt {why}, and you have not read it. {READ_IT}"
    assert (bench.root / "a.txt").read_text() == "one\nthe user's\n"
    await call(bench, "read_file", path="a.txt")
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok


async def test_a_file_that_changed_since_it_was_read_is_read_again(bench: Bench):
    await call(bench, "read_file", path="a.txt")
    by_the_user(bench, "one\nthe user's\n")
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert not result.ok and result.text == f"a.txt was changed since you read it. {READ_IT}"


async def test_an_edit_of_a_file_that_changed_says_so_and_does_not_count_as_a_reading(bench: Bench):
    await call(bench, "read_file", path="a.txt")
    by_the_user(bench, "one\nthe user's\n")
    result = await call(bench, "edit_file", path="a.txt", old_text="one\n", new_text="1\n")
    said = "a.txt was changed since you read it: read it before you rely on its other lines"
    assert result.ok and said in result.text
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    assert (bench.root / "a.txt").read_text() == "1\nthe user's\n"


async def test_a_new_file_needs_no_reading_and_a_person_may_replace_any(bench: Bench):
    assert (await call(bench, "write_file", path="new.txt", content="x\n")).ok
    by_the_user(bench, "one\nthe user's\n")
    bench.ctx.contents = None
    assert (await call(bench, "write_file", path="a.txt", content="by the person\n")).ok
