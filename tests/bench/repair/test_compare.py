"""`python -m bench repair`: harnesses repair a program with a scripted model, and the original tests judge it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.repair import compare
from bench.repair.harnesses import HARNESSES, Harness
from bench.repair.tasks import Task
from fakes.ended import is_over
from fakes.server import ScriptedServer
from fakes.turns import Turn, say

WRONG = "def half(number):\n    return number // 3\n"
RIGHT = WRONG.replace("3", "2")
TESTS = "from half import half\n\n\ndef test_half():\n    assert half(12) == 6\n"
SMALL = "tiny-0.5b-instruct"
"""A name from which rundry sees that the model is small, so that it asks for code."""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder with one task that nobody may write."""
    folder = tmp_path / "tasks" / "half"
    folder.mkdir(parents=True)
    for name, text in {"half.py": WRONG, "test_half.py": TESTS}.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (0, 0))  # Python takes old bytecode for a change of the same size in the same second
        (folder / name).chmod(0o444)
    folder.chmod(0o555)
    return folder.parent


def answer(code: str) -> Turn:
    return say(f"The divisor is wrong.\n\n```python\n{code}```\n")


def harness(tmp_path: Path, code: str) -> Harness:
    """A harness that runs this Python code next to the program."""
    script = tmp_path / "harness.py"
    script.write_text(code)
    return Harness("scripted", lambda job: [sys.executable, str(script), job.base])


def row_of(tmp_path: Path, tasks: Path, code: str, base: str = "http://127.0.0.1:9/v1", seconds: int = 30):
    log = tmp_path / "log"
    return compare.measure(harness(tmp_path, code), Task(tasks / "half"), base, SMALL, seconds, log)


def test_rundry_and_the_bare_loop_repair_a_program_and_a_second_start_repeats_nothing(tmp_path: Path, tasks: Path):
    out, root = tmp_path / "rows.jsonl", Path(__file__).parents[2]
    with ScriptedServer(then=answer(RIGHT), models=[SMALL]) as server:
        asked = ["--tasks", str(tasks), "--base", server.base_url, "--model", SMALL, "--out", str(out)]
        python = os.path.relpath(os.path.normpath(sys.executable), root)  # as a person types it
        command = [python, "-m", "bench", "repair", *asked, "--harness", "bare,rundry", "--seconds", "60"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        requests = len(server.requests)
        assert compare.main([*asked, "--harness", "bare,rundry"]) == 0
        assert len(server.requests) == requests
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["harness"] for row in rows] == ["bare", "rundry"]
    for row in rows:
        assert row["solved"] and row["claimed"] and row["exit"] == 0 and not row["other_edits"], row
        assert row["requests"] == 1 and row["read"] > 10 and row["written"] > 5, row
    assert (tasks / "half/half.py").read_text() == WRONG
    assert "| bare | 1 | 1 | 1 | 1 | 0 | 0 |" in done.stdout


def test_a_wrong_answer_is_neither_solved_nor_claimed(tmp_path: Path, tasks: Path):
    out = tmp_path / "rows.jsonl"
    with ScriptedServer(then=answer(WRONG.replace("3", "4")), models=[SMALL]) as server:
        asked = ["--tasks", str(tasks), "--base", server.base_url, "--model", SMALL, "--out", str(out)]
        assert compare.main([*asked, "--harness", "bare", "--seconds", "2"]) == 0
    row = json.loads(out.read_text())
    assert not row["solved"] and not row["claimed"] and not row["passes"] and row["requests"] >= 1


def test_a_claim_that_the_original_tests_refute_is_a_false_claim(tmp_path: Path, tasks: Path):
    edit = "from pathlib import Path; Path('test_half.py').write_text('def test_half(): pass')"
    row = row_of(tmp_path, tasks, edit) | {"round": 1}
    assert row["claimed"] and not row["passes"] and not row["solved"]
    assert row["other_edits"] == ["test_half.py"]
    assert "| scripted | 1 | 1 | 0 | 1 | 1 | 1 |" in compare.table([row])


@pytest.mark.parametrize(
    ("more", "edits"),
    [
        ("pass", []),
        ("Path('.notes').mkdir(); Path('.notes/a').write_text('')", []),
        ("Path('conftest.py').write_text('')", ["conftest.py"]),
        ("Path('test_half.py').unlink()", ["test_half.py"]),
    ],
)
def test_a_program_counts_as_solved_only_if_nothing_else_was_changed(
    tmp_path: Path, tasks: Path, more: str, edits: list[str]
):
    code = f"from pathlib import Path; Path('half.py').write_text({RIGHT!r}); {more}"
    row = row_of(tmp_path, tasks, code)
    assert row["passes"] and row["other_edits"] == edits and row["solved"] == (not edits)


def test_a_harness_is_ended_at_the_limit_with_all_that_it_started(tmp_path: Path, tasks: Path):
    child = "import subprocess, sys, time\ncommand = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
    code = f"{child}print(subprocess.Popen(command, start_new_session=True).pid, flush=True)\ntime.sleep(600)"
    row = row_of(tmp_path, tasks, code, seconds=2)
    assert row["exit"] == -9 and not row["claimed"] and 2 <= row["seconds"] < 30
    assert is_over(int((tmp_path / "log").read_text()))


ASKS = """
import json, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": %s}
headers = {"Content-Type": "application/json"}
request = urllib.request.Request(sys.argv[1] + "/chat/completions", json.dumps(body).encode(), headers)
with urllib.request.urlopen(request) as answer:
    %s
"""
PROGRESS = {"choices": [], "prompt_progress": {"total": 70, "cache": 60, "processed": 70}}
PIECE = {"choices": [{"index": 0, "delta": {"content": "a"}}]}
TIMINGS = {"choices": [], "timings": {"prompt_n": 10, "cache_n": 60, "predicted_n": 3}}
CACHED = {"cached_tokens": 60}
USAGE = {"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 3, "prompt_tokens_details": CACHED}}


@pytest.mark.parametrize(
    ("chunks", "counts"),
    [
        ([PIECE, PIECE, PIECE, USAGE], (70, 60, 3, 0)),
        ([PIECE, PIECE, PIECE, TIMINGS], (70, 60, 3, 0)),
        ([PROGRESS, PIECE, PIECE, PIECE], (70, 60, 3, 0)),
        ([PIECE, PIECE, PIECE], (0, 0, 3, 1)),
    ],
)
def test_tokens_are_counted_from_whatever_a_server_says(tmp_path: Path, tasks: Path, chunks, counts):
    raw = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
    with ScriptedServer(then=Turn(raw=raw)) as server:
        row = row_of(tmp_path, tasks, ASKS % ("True", "answer.read()"), server.base_url)
    assert (row["read"], row["cached"], row["written"], row["uncounted"]) == counts and row["requests"] == 1


def test_a_harness_that_cuts_an_answer_frees_the_server(tmp_path: Path, tasks: Path):
    with ScriptedServer(then=Turn(tokens=50, hold_after=20)) as server:
        row = row_of(tmp_path, tasks, ASKS % ("True", "answer.readline(); answer.close()"), server.base_url)
        server.wait_closed()
    assert row["requests"] == 1


EDIT, FAILED = "Applied edit to half.py\n", "FAILED test_half.py\nAdded 12 lines of output to the chat.\n"


@pytest.mark.parametrize(
    ("log", "claims"),
    [
        (EDIT, True),
        (EDIT + FAILED + EDIT, True),
        (EDIT + FAILED + "I cannot.", False),
        (EDIT + FAILED + EDIT + FAILED + "Only 3 reflections allowed, stopping.", False),
        ("I cannot.", False),
    ],
)
def test_aider_claims_success_only_if_the_tests_passed_after_its_last_edit(log: str, claims: bool):
    (aider,) = (one for one in HARNESSES if one.name == "aider")
    assert aider.claims(0, log) == claims


def test_a_harness_that_is_not_installed_is_named(tasks: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        compare.main(["--tasks", str(tasks), "--out", os.devnull, "--harness", "rundry,nobody"])
    assert "nobody: unknown or not installed" in capsys.readouterr().err
