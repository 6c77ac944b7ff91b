"""A user's command and a user's function that work items: real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.ended import is_over
from search.finder.working import ITEM, KEY, KEY_NAME, ended_within_a_second

from rundry.agent.protocol import UserError
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.search.items.item_state import Candidate
from rundry.agent.search.workers.command_worker import CommandWorker
from rundry.agent.search.workers.python_worker import PythonWorker
from rundry.agent.search.workers.worker import ItemResult, ReportedFinding, WorkItem


@pytest.fixture
def make_command(tmp_path: Path) -> Callable[..., CommandWorker]:
    def make(script: str, *, seconds: float = 20.0, sandbox: Sandbox | None = None) -> CommandWorker:
        (tmp_path / "worker.py").write_text(script)
        env = command_env({**os.environ, KEY_NAME: KEY})
        command = [sys.executable, "worker.py"]
        return CommandWorker(command, workspace=tmp_path, env=env, sandbox=sandbox or Sandbox(), seconds=seconds)

    return make


def printing(answer: object) -> str:
    return f"print({json.dumps(answer)!r})"


async def said(make: Callable[..., CommandWorker], script: str) -> str:
    worked = await make(script).work(ITEM)
    assert not worked.items
    return worked.error


async def test_a_command_gets_its_item_and_gives_its_result(make_command: Callable[..., CommandWorker]) -> None:
    script = """
import json, os, sys
item = json.load(sys.stdin)
print("looking around", file=sys.stderr)
print(json.dumps({
    "items": [{"kind": "value", "value": json.dumps(item)}, {"kind": "file", "value": os.getcwd()}],
    "findings": [{"title": "t", "detail": "d", "evidence": "a.py:1", "key": "k"}, {"title": "only this"}],
    "found_new": True, "reason": "looked",
}))
"""
    worker = make_command(script)
    worked = await worker.work(ITEM)
    told = {"kind": "file", "value": "src/a.py", "key": "/w/src/a.py", "attempt": 2}
    assert json.loads(worked.items[0].value) == told
    assert (Path(worked.items[1].value) / "worker.py").is_file(), "it runs in the workspace"
    assert worked.findings == [ReportedFinding("t", "d", "a.py:1", "k"), ReportedFinding("only this")]
    assert (worked.found_new, worked.reason, worked.error) == (True, "looked", "")


async def test_an_item_of_a_megabyte_reaches_the_command_whole(make_command: Callable[..., CommandWorker]) -> None:
    worker = make_command("import json, sys; print(json.dumps({'reason': str(len(json.load(sys.stdin)['value']))}))")
    worked = await worker.work(WorkItem("value", "é" * 1_000_000, "k"))
    assert worked == ItemResult(reason="1000000")


async def test_a_name_that_is_not_utf8_reaches_the_command(make_command: Callable[..., CommandWorker]) -> None:
    worker = make_command(
        "import json, os, sys; print(json.dumps({'reason': os.fsencode(json.load(sys.stdin)['value']).hex()}))"
    )
    worked = await worker.work(WorkItem("file", "a\udcff", "k"))
    assert worked.reason == b"a\xff".hex()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; print('cannot open it', file=sys.stderr); sys.exit(3)", ["exit code 3", "cannot open it"]),
        ("import sys; print('only here'); sys.exit(1)", ["exit code 1", "only here"]),
        (printing({"error": "out of reach"}) + "; import sys; sys.exit(2)", ["exit code 2", "out of reach"]),
        ("import os; os.kill(os.getpid(), 11)", ["exit code 139"]),
        ("pass", ["answer is empty"]),
        ("print('done, 3 links')", ["not JSON", "done, 3 links"]),
        ("print('{}{}')", ["several JSON values"]),
        ("print('{}\\n[1]')", ["several JSON values"]),
        ("print('{} ok')", ["text after its JSON"]),
        ("print('[1, 2]')", ["not a JSON object", "a list", "[1, 2]"]),
        ("print('null')", ["null"]),
        ("print('{\"found_new\": NaN}')", ["NaN"]),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", ["not UTF-8"]),
        (printing({"itmes": []}), ["itmes", "items"]),
        (printing({"items": "a"}), ["items", "array"]),
        (printing({"items": [{"kind": "url"}]}), ["items[0]", "value"]),
        (printing({"items": [{"kind": "web", "value": "x"}]}), ["items[0]", "'web'", "url, file, value"]),
        (printing({"items": [{"kind": "value", "value": " "}]}), ["items[0]", "empty"]),
        (printing({"findings": [{"detail": "no title"}]}), ["findings[0]", "title"]),
        (printing({"findings": [{"title": ""}]}), ["findings[0]", "empty"]),
        (printing({"found_new": "yes"}), ["found_new", "bool"]),
        (printing({"error": "the server is away"}), ["the server is away"]),
        ("print('[' * 100000)", ["JSON"]),
    ],
)  # fmt: skip
async def test_what_is_not_a_result_is_a_failed_step_that_says_why(
    make_command: Callable[..., CommandWorker], script: str, words: list[str]
) -> None:
    error = await said(make_command, script)
    assert all(word in error for word in words), error
    assert "\n" not in error
    assert len(error) < 1_500


async def test_nulls_are_as_left_out(make_command: Callable[..., CommandWorker]) -> None:
    answer = {"items": None, "findings": [{"title": "t", "key": None, "detail": None}], "error": None, "reason": None}
    worked = await make_command(printing(answer)).work(ITEM)
    assert worked == ItemResult(findings=[ReportedFinding("t")])


async def test_what_was_found_before_an_error_is_kept(make_command: Callable[..., CommandWorker]) -> None:
    answer = {"items": [{"kind": "value", "value": "x"}], "error": "then it broke"}
    worked = await make_command(printing(answer)).work(ITEM)
    assert worked == ItemResult(items=[Candidate("value", "x")], error="then it broke")


async def test_an_endless_answer_is_cut_and_reported(make_command: Callable[..., CommandWorker]) -> None:
    error = await said(make_command, "import sys\nfor i in range(1000): sys.stdout.write('x' * 65536)")
    assert "more than 64 MB (by 1,536,000 bytes)" in error


async def test_a_command_that_takes_too_long_is_ended_with_its_children(
    make_command: Callable[..., CommandWorker], tmp_path: Path
) -> None:
    script = """
import subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
open("pid", "w").write(str(child.pid))
print("still at it", file=sys.stderr, flush=True)
time.sleep(600)
"""
    error = await said(lambda text: make_command(text, seconds=1.0), script)
    assert "timed out after 1 s" in error
    assert "still at it" in error
    assert is_over(int((tmp_path / "pid").read_text()))


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    env = command_env(os.environ)
    worker = CommandWorker(["no-such-worker"], workspace=tmp_path, env=env, sandbox=Sandbox())
    assert "no-such-worker: not found" in (await worker.work(ITEM)).error


def test_an_empty_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="empty"):
        CommandWorker([], workspace=tmp_path, env={}, sandbox=Sandbox())


async def test_cancelling_ends_what_the_command_started(
    make_command: Callable[..., CommandWorker], tmp_path: Path
) -> None:
    script = "import os, subprocess\nopen('pid', 'w').write(str(os.getpid()))\nsubprocess.run(['sleep', '600'])"
    task = asyncio.create_task(make_command(script).work(ITEM))
    await ended_within_a_second(task, tmp_path / "pid")


_SHOWS_ITS_WORLD = """
import os
def work(item):
    try:
        open(os.path.expanduser("~/.rundry-worker-was-here"), "w")
        outside = "written"
    except OSError:
        outside = "held"
    open("inside", "w")
    return {"reason": " ".join([os.environ.get("OPENAI_API_KEY", "no key"), outside])}
"""


@pytest.mark.parametrize("kind", ["command", "python"])
async def test_workers_run_in_the_commands_sandbox_without_keys(
    kind: str,
    make_command: Callable[..., CommandWorker],
    make_python: Callable[..., PythonWorker],
    tmp_path: Path,
) -> None:
    sandbox = await Sandbox.detect(workspace=tmp_path)
    calls = f"{_SHOWS_ITS_WORLD}\nimport json; print(json.dumps(work({{}})))"
    worker = (
        make_command(calls, sandbox=sandbox) if kind == "command" else make_python(_SHOWS_ITS_WORLD, sandbox=sandbox)
    )
    worked = await worker.work(ITEM)
    outside = Path("~/.rundry-worker-was-here").expanduser()
    if sandbox.kind is None:
        outside.unlink()
        assert worked.reason == "no key written", worked.error
    else:
        assert not outside.exists()
        # With a home below /tmp the command writes into the home of its own /tmp.
        held = ("held", "written") if outside.is_relative_to("/tmp") else ("held",)
        assert worked.reason in [f"no key {word}" for word in held], worked.error
    assert (tmp_path / "inside").exists()


@pytest.mark.parametrize(
    "answer",
    [
        '{"findings": [{"title": "a"}], "findings": []}',
        '{"error": "no", "error": ""}',
        '{"items": [{"kind": "value", "value": "a", "value": "b"}]}',
        '{"findings": [{"title": "a", "key": "k", "k\\\\u0065y": "l"}]}',
    ],
)
async def test_an_answer_with_a_key_twice_is_an_error(make_command: Callable[..., CommandWorker], answer: str) -> None:
    worked = await make_command(f"print('''{answer}''')").work(ITEM)
    assert "twice in one object" in worked.error
    assert not worked.items and not worked.findings


async def test_a_key_in_a_text_is_not_a_second_one(make_command: Callable[..., CommandWorker]) -> None:
    finding = {"title": '"title": "key"', "detail": '{"title": 1, "title": 2}', "evidence": "ü", "key": "title"}
    worked = await make_command(printing({"findings": [finding, finding]})).work(ITEM)
    assert (worked.error, len(worked.findings)) == ("", 2)
