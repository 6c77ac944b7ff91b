from __future__ import annotations

import json
import os

import pytest

from rundry.agent.budget.time_limits import FixedTime
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.tools.parse import parse_arguments
from rundry.agent.tools.reading.search_tool import own_search


async def test_lines_come_numbered(bench):
    bench.file("a.py", "one\r\ntwo\n\nfour")
    result = await bench.read("read_file", '{"path": "a.py"}')
    assert result.ok
    assert result.text == "a.py:\n1| one\n2| two\n3| \n4| four"
    assert result.summary == "4 lines"


async def test_a_long_file_is_cut_at_a_line_with_the_way_to_read_on(make_bench):
    bench = make_bench(limit=400)
    bench.file("a.txt", "".join(f"line {i}\n" for i in range(1, 301)))
    seen: list[str] = []
    start: int | None = 1
    while start is not None:
        result = await bench.read("read_file", json.dumps({"path": "a.txt", "start_line": start}))
        assert len(result.text) < 520
        seen += [line.partition("| ")[2] for line in result.text.splitlines() if "| " in line]
        last = result.text.splitlines()[-1]
        start = int(last.partition("start_line=")[2].rstrip("]")) if "start_line=" in last else None
    assert seen == [f"line {i}" for i in range(1, 301)]


async def test_a_range_is_read_as_asked_and_a_wrong_one_is_reported(bench):
    bench.file("a.txt", "1\n2\n3\n")
    assert (await bench.read("read_file", '{"path": "a.txt", "start_line": 2, "end_line": 2}')).text.endswith(":\n2| 2")
    assert "has 3 lines" in (await bench.read("read_file", '{"path": "a.txt", "start_line": 4}')).text
    assert (
        "before start_line" in (await bench.read("read_file", '{"path": "a.txt", "start_line": 3, "end_line": 1}')).text
    )
    assert (await bench.read("read_file", '{"path": "a.txt", "start_line": 0}')).ok


async def test_one_very_long_line_stays_bounded(bench):
    bench.file("a.txt", "x" * 1_000_000)
    result = await bench.read("read_file", '{"path": "a.txt"}')
    assert len(result.text) < 3_000
    assert "998,000 more characters" in result.text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("src", "is a folder"),
        ("nix.py", "does not exist"),
        ("cal.py", "Did you mean src/calc.py"),
        ("calc.py", "Did you mean src/calc.py"),
        ("../x", "outside of the workspace"),
        ("/etc/passwd", "outside of the workspace"),
        (".env", "secrets"),
        (".git/config", "git"),
        ("bin", "binary"),
        ("pipe", "pipe"),
        ("l/passwd", "outside of the workspace"),
        ("a\x00b", "NUL"),
        ("output:0123456789", "no stored output"),
    ],
)
async def test_what_cannot_be_read_is_reported_with_a_way_out(bench, path, says):
    bench.file("src/calc.py", "")
    bench.file("bin", b"\0\1\2")
    os.mkfifo(bench.root / "pipe")
    (bench.root / "l").symlink_to("/etc")
    result = await bench.read("read_file", json.dumps({"path": path}))
    assert not result.ok
    assert says in result.text


async def test_an_empty_file_is_not_an_error(bench):
    bench.file("a", "")
    assert (await bench.read("read_file", '{"path": "a"}')).text == "a is empty"


async def test_files_are_listed_in_order_without_what_is_ignored(bench):
    for name in ("b.py", "a/x.py", "a/y.txt", ".git/config", "node_modules/m.js", "out/log", ".hidden"):
        bench.file(name, "")
    bench.file(".gitignore", "out/\n")
    assert (await bench.read("list_files", "{}")).text.splitlines() == [
        ".gitignore", ".hidden", "a/x.py", "a/y.txt", "b.py",
    ]  # fmt: skip
    assert (await bench.read("list_files", '{"path": "a"}')).text.splitlines() == ["a/x.py", "a/y.txt"]
    assert (await bench.read("list_files", '{"pattern": "*.py"}')).text.splitlines() == ["a/x.py", "b.py"]
    assert (await bench.read("list_files", '{"pattern": "a/**"}')).text.splitlines() == ["a/x.py", "a/y.txt"]
    assert "no file" in (await bench.read("list_files", '{"pattern": "*.rs"}')).text
    assert (await bench.read("list_files", '{"path": "nix"}')).ok is False
    assert (await bench.read("list_files", '{"path": ".."}')).ok is False


async def test_a_long_listing_is_bounded_and_says_how_many_there_are(bench):
    for i in range(500):
        (bench.root / f"f{i:03}").touch()
    result = await bench.read("list_files", "{}")
    assert result.text.splitlines()[-1] == "[400 of 500 files; narrow it with path or pattern]"


@pytest.fixture(params=["ripgrep", "own"])
def searching(request, bench):
    """The same searches with ripgrep on the path, and without."""
    if request.param == "own":
        bench.ctx.env = {**bench.ctx.env, "PATH": str(bench.root)}
    return bench


async def test_matches_come_as_path_line_and_text_in_order(searching):
    searching.file("b.py", "x = 1\ny = xx\n")
    searching.file("a/c.py", "no\nx = 2\n")
    result = await searching.read("search", '{"pattern": "x ?= "}')
    assert result.text.splitlines() == ["a/c.py:2: x = 2", "b.py:1: x = 1"]
    assert result.summary == "2 matches"
    assert (await searching.read("search", '{"pattern": "x = ", "path": "a"}')).text == "a/c.py:2: x = 2"
    assert (await searching.read("search", '{"pattern": "x = ", "path": "b.py"}')).text == "b.py:1: x = 1"
    assert "no match" in (await searching.read("search", '{"pattern": "zzz"}')).text


async def test_secrets_ignored_and_binary_files_do_not_show_in_a_search(searching):
    searching.file(".env", "KEY=needle\n")
    searching.file("id_rsa", "needle\n")
    searching.file(".git/x", "needle\n")
    searching.file("node_modules/x.js", "needle\n")
    searching.file("bin", b"\0needle\n")
    searching.file("a.txt", "needle\n")
    result = await searching.read("search", '{"pattern": "needle"}')
    assert [line for line in result.text.splitlines() if "needle" in line] == ["a.txt:1: needle"]
    assert "no tool may read" in result.text


async def test_a_pattern_that_is_not_an_expression_is_searched_as_text(searching):
    searching.file("a.txt", "call foo(\n")
    result = await searching.read("search", '{"pattern": "foo("}')
    assert "a.txt:1: call foo(" in result.text
    assert "plain text" in result.text


async def test_options_in_a_pattern_or_a_path_are_text(searching):
    searching.file("a.txt", "--pre=sh\n")
    assert "a.txt:1" in (await searching.read("search", '{"pattern": "--pre=sh"}')).text
    assert not (await searching.read("search", '{"pattern": "x", "path": "--pre=sh"}')).ok


async def test_many_and_long_matches_stay_bounded(searching):
    searching.file("a.txt", "needle\n" * 5_000)
    searching.file("b.txt", "needle" + "x" * 100_000)
    result = await searching.read("search", '{"pattern": "needle"}')
    assert len(result.text) < 12_300
    assert "narrow it" in result.text.splitlines()[-1]
    assert len((await searching.read("search", '{"pattern": "needle", "path": "b.txt"}')).text) < 2_300


async def test_a_search_never_starts_a_program_of_the_workspace(bench):
    bench.file("a.txt", "needle\n")
    bench.file(".venv/bin/rg", f"#!/bin/sh\ntouch {bench.root}/planted\n").chmod(0o755)
    path = os.pathsep.join([str(bench.root / ".venv" / "bin"), bench.ctx.env["PATH"]])
    bench.ctx.env = {**bench.ctx.env, "PATH": path}
    assert (await bench.read("search", '{"pattern": "needle"}')).text == "a.txt:1: needle"
    assert not (bench.root / "planted").exists()


async def test_a_search_works_in_the_sandbox(searching):
    searching.ctx.sandbox = await Sandbox.detect(workspace=searching.root)
    searching.file("a.txt", "needle\n")
    assert (await searching.read("search", '{"pattern": "needle"}')).text == "a.txt:1: needle"
    assert "plain text" in (await searching.read("search", '{"pattern": "needle("}')).text


async def test_a_fifo_does_not_hold_a_search(searching):
    searching.file("a.txt", "needle\n")
    os.mkfifo(searching.root / "b.txt")
    assert (await searching.read("search", '{"pattern": "needle"}')).text == "a.txt:1: needle"
    assert "not a regular file" in (await searching.read("search", '{"pattern": "needle", "path": "b.txt"}')).text


async def test_a_search_without_end_is_ended(make_bench):
    bench = make_bench(time_limits=FixedTime(0.2))
    bench.file("a.txt", "a" * 40 + "b\n")
    done = await own_search("(a+)+$", ".", bench.ctx)
    assert done.timed_out


def test_an_empty_pattern_is_reported(bench):
    assert parse_arguments("search", '{"pattern": ""}').error is None
