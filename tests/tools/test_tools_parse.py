from __future__ import annotations

import json

import msgspec
import pytest

from rundry.agent.tools.parse import parse_arguments
from rundry.agent.tools.tool_arguments import Edit, EditFile, RunCommand, UpdatePlan, WriteFile
from rundry.agent.tools.tool_table import TOOLS, tool_specs


@pytest.mark.parametrize("name", list(TOOLS))
def test_what_is_offered_is_what_is_taken(name):
    tool = TOOLS[name]
    properties = tool.spec.parameters["properties"]
    assert list(properties) == [field.name for field in msgspec.structs.fields(tool.arguments)]
    needed = {field.name for field in msgspec.structs.fields(tool.arguments) if field.required}
    assert needed <= set(tool.spec.parameters["required"])
    assert tool_specs([name]) == [tool.spec]


def test_valid_arguments_are_taken_as_they_are():
    parsed = parse_arguments("edit_file", '{"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}')
    assert parsed.arguments == EditFile("a", [Edit("x", "y")])
    assert not parsed.repaired


@pytest.mark.parametrize(
    ("tool", "raw", "says"),
    [
        ("read_file", "{}", "missing `path`"),
        ("read_file", "", "missing `path`"),
        ("read_file", "[1]", "not a JSON object"),
        ("read_file", "7", "not a JSON object"),
        ("read_file", '{"path": "a", "start_line": "x"}', "start_line: expected"),
        ("edit_file", '{"path": "a"}', "`edits` is missing"),
        ("edit_file", '{"path": "a", "old_text": "x"}', "must both be given"),
        ("edit_file", '{"path": "a", "edits": [{"old_text": "x"}]}', "missing `new_text`"),
        ("write_file", '{"path": "a", "content": "half', "incomplete"),
        ("write_file", '{"path": "a", "content": "half"', "incomplete"),
        ("write_file", '{"path": "a"', "incomplete"),
        ("write_file", '{"path": "\\ud800", "content": ""}', "half a character"),
        ("update_plan", '{"lines": [{"state": "done"}]}', "a step of the plan has no `text`"),
        ("update_plan", '{"lines": [{"text": "a", "state": "cancelled"}]}', "use `done`, `doing` or `open`"),
        ("reed_file", "{}", "Did you mean `read_file`?"),
        ("rm -rf", "{}", "there is no tool `rm -rf`"),
    ],
)
def test_a_wrong_call_gets_an_error_that_says_what_is_wrong_and_how_to_call(tool, raw, says):
    parsed = parse_arguments(tool, raw)
    assert parsed.arguments is None
    assert says in parsed.error
    assert "takes" in parsed.error or "There are: " in parsed.error


@pytest.mark.parametrize(
    "raw",
    [
        '{"lines": ["[x] read", "[>] fix"]}',
        '{"lines": "[x] read\\n[>] fix"}',
        '{"plan": [{"step": "read", "status": "completed"}, {"step": "fix", "status": "in_progress"}]}',
    ],
)
def test_a_plan_is_lines_one_text_or_the_objects_of_other_tools(raw):
    plan = parse_arguments("update_plan", raw).arguments
    assert isinstance(plan, UpdatePlan)
    assert plan.written() == ["[x] read", "[>] fix"]


def test_a_tool_that_is_not_on_offer_is_not_a_tool():
    assert "there is no tool `run_command`" in parse_arguments("run_command", '{"command": "ls"}', ["read_file"]).error
    assert parse_arguments("read_file", '{"path": "a"}', ["read_file"]).error is None


def test_empty_arguments_are_an_empty_object_where_nothing_is_required():
    assert parse_arguments("list_files", "").error is None
    assert parse_arguments("list_files", "null").error is None


@pytest.mark.parametrize(
    "raw",
    [
        '```json\n{"path": "a", "content": "b\\n"}\n```',
        "{'path': 'a', 'content': 'b\\n'}",
        '{"path": "a", "content": "b\n"}',
        '{"path": "a", "content": "b\\n",}',
        json.dumps('{"path": "a", "content": "b\\n"}'),
    ],
)
def test_a_broken_form_is_fixed_and_reported(raw):
    parsed = parse_arguments("write_file", raw)
    assert parsed.arguments == WriteFile("a", "b\n")
    assert parsed.repaired


def test_mending_never_touches_what_would_be_written_or_run():
    assert parse_arguments("write_file", '{path: "a", content: "b\\n"}').arguments in (None, WriteFile("a", "b\n"))
    assert parse_arguments("run_command", '{"command": "echo "a" b"}').arguments is None
    assert parse_arguments("run_command", '{command: "ls -l"}').arguments == RunCommand("ls -l")
    assert parse_arguments("search", '{pattern: "x"}').repaired


def test_no_beginning_of_a_call_is_ever_taken_for_the_whole():
    whole = json.dumps({"path": "a.py", "content": 'print("{}")\nx = [1, {"a": "}"}]\n'})
    for cut in range(1, len(whole)):
        assert parse_arguments("write_file", whole[:cut]).arguments is None, whole[:cut]
    assert parse_arguments("write_file", whole).arguments is not None


@pytest.mark.parametrize(
    "field",
    ["cwd", "workdir", "working_directory", "sandbox", "dangerouslyDisableSandbox", "env", "writable_root", "root",
     "auto_approve", "sandbox_permissions", "user", "network"],
)  # fmt: skip
def test_a_model_cannot_set_where_or_how_freely_a_command_runs(field):
    parsed = parse_arguments("run_command", json.dumps({"command": "ls", field: "/"}))
    assert parsed.arguments is None
    assert f"only the person can set `{field}`" in parsed.error
    assert parsed.summary in (f"may not set {field}", "may not set that") and len(parsed.summary) < 30


def test_fields_that_mean_nothing_are_left_out():
    parsed = parse_arguments("run_command", '{"command": "ls", "description": "look", "timeout": null}')
    assert parsed.arguments == RunCommand("ls")


@pytest.mark.parametrize(
    ("tool", "raw", "taken"),
    [
        ("read_file", '{"file_path": "a", "start_line": "3"}', {"path": "a", "start_line": 3}),
        ("run_command", '{"cmd": "ls", "timeout": "30"}', {"command": "ls", "timeout": 30.0}),
        ("list_files", '{"directory": "src"}', {"path": "src"}),
    ],
)
def test_what_other_tools_call_a_field_is_understood(tool, raw, taken):
    arguments = parse_arguments(tool, raw).arguments
    assert {name: getattr(arguments, name) for name in taken} == taken


def test_edits_may_stand_flat_as_text_or_as_one_object_under_other_names():
    block = '{"old_string": "x", "new_string": "y"}'
    for raw in (
        '{"path": "a", "old_text": "x", "new_text": "y"}',
        '{"path": "a", "old_string": "x", "new_string": "y"}',
        f'{{"path": "a", "edits": {block}}}',
        f'{{"path": "a", "edits": [{block}]}}',
        json.dumps({"path": "a", "edits": f"[{block}]"}),
    ):
        parsed = parse_arguments("edit_file", raw)
        assert parsed.error is None, parsed.error
        assert parsed.arguments.blocks() == [Edit("x", "y")]


def test_citations_come_back_as_the_model_gave_them(bench):
    raw = '{"answer": "done", "citations": ["a.py", "a.py:3", {"path": "b.py", "line": 2, "quote": "x"}]}'
    answer, citations = bench.ctx.finish(parse_arguments("finish", raw).arguments)
    assert answer == "done"
    assert citations == ["a.py", "a.py:3", {"path": "b.py", "line": 2, "quote": "x"}]
    assert bench.ctx.finish(parse_arguments("finish", '{"answer": "x"}').arguments) == ("x", [])


@pytest.mark.parametrize(
    ("tool", "raw"),
    [
        ("write_file", '{"path": "a", "content": "x", "content": "y"}'),
        ("write_file", '{"path": "a", "content": "x", "p\\u0061th": "b"}'),
        ("edit_file", '{"path": "a", "edits": [{"old_text": "x", "new_text": "y", "new_text": "z"}]}'),
        ("report", '{"findings": [{"title": "a", "evidence": "a:1"}], "found_new": true, "findings": []}'),
        ("judge", '{"verdict": "refuted", "reason": "r", "verdict": "stands"}'),
        ("write_file", "{'path': 'a', 'content': 'x', 'content': 'y'}"),
        ("write_file", '```json\n{"path": "a", "content": "x", "content": "y"}\n```'),
        ("judge", '{verdict: "refuted", reason: "r", verdict: "stands",}'),
        ("judge", '"{\\"verdict\\": \\"refuted\\", \\"reason\\": \\"r\\", \\"verdict\\": \\"stands\\"}"'),
        (
            "edit_file",
            '{"path": "a", "edits": "[{\\"old_text\\": \\"x\\", \\"new_text\\": \\"y\\", \\"new_text\\": \\"z\\"}]"}',
        ),
    ],
)
def test_a_key_that_is_there_twice_is_an_error_and_never_silently_the_last_one(tool, raw):
    parsed = parse_arguments(tool, raw)
    assert parsed.arguments is None
    assert parsed.error is not None


@pytest.mark.parametrize(
    "content", ['{"a": 1, "a": 2}', "it's {x: 1, x: 2}", 'say "path": "b"', 'a\\"path\\": c', "päth: 'path': 1"]
)
def test_a_text_that_looks_like_keys_is_only_a_text(content):
    parsed = parse_arguments("write_file", json.dumps({"path": "a", "content": content}))
    assert parsed.arguments == WriteFile("a", content)
