"""Files that cannot be changed: one clear line for the model and the journal, and nothing is touched."""

from __future__ import annotations

import json
import os
import tracemalloc

import pytest
from fakes.in_process.headless_run import play
from fakes.project import make_project
from fakes.server import ScriptedServer
from fakes.turns import call, finish

from rundry.agent.protocol import GateMode, ProposalOpened
from rundry.agent.tools.tool_result import ToolResult


def vanished(path):
    path.with_name("other.txt").write_text("x")


def a_device(path):
    try:
        os.mknod(path, 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root can make a device")


def a_huge_file(path):
    with path.open("wb") as file:
        file.truncate(200_000_000)


def two_links_in_a_circle(path):
    path.symlink_to("second")
    path.with_name("second").symlink_to(path.name)


BAD = {
    "a folder": (lambda path: path.mkdir(), "is a folder"),
    "a pipe": (os.mkfifo, "a pipe"),
    "a device": (a_device, "a device"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "outside of the workspace"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "form a circle"),
    "a circle of links": (two_links_in_a_circle, "form a circle"),
    "a link out": (lambda path: path.symlink_to("/etc/hostname"), "outside of the workspace"),
    "a dangling link out": (lambda path: path.symlink_to("../../../../../nowhere"), "outside of the workspace"),
    "invalid utf-8": (lambda path: path.write_bytes(b"\xc3\xa9\nb\xffd old\n"), "line 2 has the byte 0xff"),
    "binary": (lambda path: path.write_bytes(b"old\0"), "binary (4 bytes)"),
    "200 MB": (a_huge_file, "too large (200,000,000 bytes"),
}
EDIT = {"edits": [{"old_text": "old", "new_text": "new"}]}
TOOLS = [("edit_file", EDIT), ("write_file", {"content": "new"})]


def snapshot(root):
    return {
        path.relative_to(root): (path.lstat().st_mode, path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in root.rglob("*")
    }


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize(("tool", "arguments"), TOOLS, ids=["edit", "write"])
async def test_what_is_not_a_text_file_is_named_in_one_line_and_left_alone(bench, what, tool, arguments):
    make, word = BAD[what]
    make(bench.root / "bad")
    before = snapshot(bench.root)
    tracemalloc.start()
    result = await bench.act(tool, json.dumps({"path": "bad"} | arguments))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not result.ok
    assert word in result.text
    assert "\n" not in result.text
    assert "bad" in result.text
    assert peak < 5_000_000
    assert snapshot(bench.root) == before
    assert bench.events == []


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "~/x", "a/../../x", "a\0b", ""])
@pytest.mark.parametrize(("tool", "arguments"), TOOLS, ids=["edit", "write"])
async def test_a_path_outside_or_impossible_is_named_in_one_line(bench, path, tool, arguments):
    result = await bench.act(tool, json.dumps({"path": path} | arguments))
    assert not result.ok
    assert "\n" not in result.text
    assert snapshot(bench.root) == {}


async def test_an_edit_of_a_file_that_is_gone_says_so_and_names_one_like_it(bench):
    bench.file("d/other.txt", "old")
    result = await bench.act("edit_file", json.dumps({"path": "other.txt"} | EDIT))
    assert "does not exist. Did you mean d/other.txt?" in result.text
    assert "\n" not in result.text


async def test_a_file_in_an_older_encoding_is_edited_in_it_and_both_sides_are_reported(make_bench):
    bench = make_bench(mode=GateMode.EDITS)
    file = bench.file("a.txt", b"caf\xe9 old\n")
    result = await bench.act("edit_file", json.dumps({"path": "a.txt"} | EDIT))
    assert result.ok
    assert file.read_bytes() == b"caf\xe9 new\n"
    assert "the file is cp1252, not UTF-8, and keeps this encoding" in result.text
    asking = make_bench(mode=GateMode.ASK)
    await asking.act("edit_file", json.dumps({"path": "a.txt", "edits": [{"old_text": "new", "new_text": "x"}]}))
    opened = next(event for event in asking.events if isinstance(event, ProposalOpened))
    assert "the file is cp1252, not UTF-8, and keeps this encoding" in opened.asks


@pytest.mark.parametrize("what", BAD)
async def test_a_file_that_turns_bad_between_the_decision_and_the_write_is_left_alone(bench, what):
    file = bench.file("bad", "old\n")
    draft = bench.draft("edit_file", json.dumps({"path": "bad"} | EDIT))
    assert not isinstance(draft, ToolResult)
    file.unlink()
    BAD[what][0](file)
    before = snapshot(bench.root)
    result = await bench.carry_out(draft)
    assert not result.ok
    assert "Nothing was written" in result.text or "bad was not changed" in result.text
    assert "\n" not in result.text
    assert snapshot(bench.root) == before


async def test_a_run_continues_after_each_of_them_and_the_journal_holds_the_line(tmp_path):
    runs, project = tmp_path / "runs", tmp_path / "w"
    runs.mkdir(mode=0o700)
    project.mkdir()
    make_project(project)
    folder = project / "bad"
    folder.mkdir()
    kinds = [kind for kind in BAD if kind != "a device"]
    for number, kind in enumerate(kinds):
        (folder / str(number)).mkdir()
        BAD[kind][0](folder / str(number) / "bad")
    turns = [call("edit_file", path=f"bad/{number}/bad", **EDIT) for number in range(len(kinds))]
    with ScriptedServer([*turns, call("read_file", path="calc/core.py"), finish("told", "calc/core.py")]) as server:
        ran = await play(runs, server, project, gate=GateMode.AUTO)
    assert ran.outcome["reason"] == "answered", ran.story()
    finished = ran.of("tool_finished")[: len(kinds)]
    for kind, event in zip(kinds, finished, strict=True):
        assert not event["ok"]
        assert BAD[kind][1] in event["result"]
    assert ran.outcome["files_changed"] == []
