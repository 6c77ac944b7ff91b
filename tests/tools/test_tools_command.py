from __future__ import annotations

import json

import pytest

from rundry.agent.budget.time_limits import FixedTime
from rundry.agent.protocol import GateMode, ProposalOpened


def _run(command: str, **more: object) -> str:
    return json.dumps({"command": command, **more})


async def test_a_command_runs_in_the_workspace_and_says_how_it_ended(bench):
    bench.file("a.txt", "x")
    result = await bench.act("run_command", _run("ls; exit 3"))
    assert not result.ok
    assert result.summary == "exit 3"
    assert result.text.startswith("exit code 3 after ")
    assert result.text.endswith("\na.txt\n")
    quiet = await bench.act("run_command", _run("true"))
    assert quiet.ok
    assert quiet.text.endswith("It printed nothing.")


async def test_no_state_is_kept_between_commands(bench):
    await bench.act("run_command", _run("cd /; export PAGER=./x"))
    result = await bench.act("run_command", _run('pwd; echo "$PAGER"'))
    assert result.text.splitlines()[1:] == [str(bench.root), "cat"]


async def test_a_command_that_takes_too_long_is_ended_and_says_so(bench):
    result = await bench.act("run_command", _run("echo begun; sleep 30", timeout=0.2))
    assert not result.ok
    assert "timed out after 0.2 s" in result.text
    assert "begun" in result.text


async def test_the_runs_own_time_bounds_a_command(make_bench):
    bench = make_bench(time_limits=FixedTime(0.2))
    assert "timed out" in (await bench.act("run_command", _run("sleep 30"))).text


async def test_long_output_is_shortened_with_a_way_to_read_all_of_it(make_bench):
    bench = make_bench(limit=1_000)
    result = await bench.act("run_command", _run("seq 1 2000"))
    assert len(result.text) < 1_400
    lines = result.text.splitlines()
    assert lines[1] == "1"
    assert lines[-1] == "2000"
    note = next(line for line in lines if "lines left out" in line)
    assert bench.blobs[result.full] == b"".join(b"%d\n" % i for i in range(1, 2001))
    path = note.partition('path "')[2].partition('"')[0]
    start = int(note.partition("start_line=")[2].rstrip("]"))
    assert (lines[start - 1], lines[start]) == (str(start - 1), note)
    more = await bench.read("read_file", json.dumps({"path": path, "start_line": start}))
    assert more.text.splitlines()[1] == f"{start}| {start}"


async def test_a_resumed_run_reads_on_in_an_earlier_output(make_bench):
    bench = make_bench(limit=1_000)
    result = await bench.act("run_command", _run("seq 1 2000"))
    later = make_bench(limit=1_000)
    later.blobs.update(bench.blobs)
    name = later.ctx.register_output(result.full)
    assert name in result.text
    assert (await later.read("read_file", json.dumps({"path": name}))).ok


async def test_control_sequences_and_redrawn_lines_do_not_reach_the_model(bench):
    result = await bench.act(
        "run_command", _run(r"printf '\e[31mred\e[0m\n10%%\r50%%\r100%%\n\e]0;title\a ok\a\b\n\r\n'")
    )
    assert result.text.splitlines()[1:] == ["red", "100%", " ok", ""]
    assert not any(character in result.text for character in "\x1b\x07\x08\r")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (_run(" \n"), "empty"),
        (_run("a\0b"), "NUL"),
        (_run("ls", timeout=0), "timeout is a number"),
        (_run("ls", timeout=-1), "timeout is a number"),
        (_run("ls", timeout=1e9), "timeout is a number"),
        (_run("x" * 200_000), "write a script"),
    ],
)
async def test_a_command_that_makes_no_sense_never_comes_before_the_gate(bench, arguments, says):
    result = await bench.act("run_command", arguments)
    assert not result.ok
    assert says in result.text
    assert bench.events == []


async def test_the_gate_shows_the_whole_command_line(bench):
    command = "echo a" + " " * 500 + "; true\u202e"
    await bench.act("run_command", _run(command))
    opened = next(event for event in bench.events if isinstance(event, ProposalOpened))
    assert (opened.command, opened.cwd) == (command, str(bench.root))


async def test_what_the_policy_refuses_does_not_run_and_says_so(make_bench):
    bench = make_bench(mode=GateMode.READ)
    result = await bench.act("run_command", _run("touch P"))
    assert not result.ok
    assert "refused by the policy: the gate is set to `read`" in result.text
    assert list(bench.root.iterdir()) == []


async def test_a_background_child_does_not_hold_the_result_back(bench):
    result = await bench.act("run_command", _run("sleep 60 & echo done"))
    assert result.ok
    assert "done" in result.text
    assert "remaining process" in result.text
