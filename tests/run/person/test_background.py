"""Commands that run in the background (docs/requirements.md 7.6), and the person's own commands."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.in_process.layered_run import begun
from fakes.sandboxes import needs_bubblewrap
from fakes.turns import Turn, call, edit, finish, say

from rundry.agent.protocol import GateMode, Interrupt, LoopKind, Pause, Say, Shell, Stop, StopCommand, Undo, Unpause
from rundry.agent.tools.parse import parse_arguments

STOP = Stop(how="now")
READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
WAITS = "while ! test -e over; do sleep 0.02; done"
SERVER = "echo listening; while :; do sleep 0.05; echo tick; done"


def start(name: str, command: str) -> Turn:
    return call("start_command", name=name, command=command)


def running(marker: str) -> list[int]:
    """Processes whose command line holds the marker."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line:
                found.append(int(entry.name))
    return found


async def gone(marker: str) -> None:
    async with asyncio.timeout(10):
        while running(marker):
            await asyncio.sleep(0.02)


async def test_it_runs_on_is_read_on_and_ends_with_the_run(driven, work):
    run = driven(
        start("server", f": mark-{os.getpid()}-a; {SERVER}"), READ, call("read_file", path="output:server"), DONE
    )
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    first, _, read, _ = run.of("tool_finished")
    assert first["ok"] and "runs in the background" in first["result"] and "listening" in first["result"]
    assert "1| listening" in read["result"] and "tick" in read["result"]
    (ended,) = run.of("background_ended")
    assert ended["how"] == "the run ended" and run.types().index("background_ended") < run.types().index("run_ended")
    assert run.of("background_said")[0]["line"]
    assert run.of("proposal_opened")[0]["tool"] == "start_command"
    await gone(f"mark-{os.getpid()}-a")
    run.assert_legal()


async def test_the_model_ends_it_and_may_use_the_name_again(driven):
    run = driven(
        start("s", SERVER),
        start("s", SERVER),
        call("stop_command", name="s"),
        call("stop_command", name="s"),
        start("s", SERVER),
        READ,
        DONE,
    )
    await run.run()
    results = [e["result"] for e in run.of("tool_finished")]
    assert "`s` is already running" in results[1]
    assert "`s` was ended" in results[2] and "tick" in results[2]
    assert "nothing runs under `s`; running: nothing" in results[3]
    assert "runs in the background" in results[4]
    assert [e["how"] for e in run.of("background_ended")] == ["stopped by the model", "the run ended"]


async def test_a_command_that_does_not_come_up_is_an_error_with_its_output(driven):
    run = driven(start("s", "echo no such port; exit 3"), READ, DONE)
    await run.run()
    first = run.of("tool_finished")[0]
    assert not first["ok"] and "exit code 3" in first["result"] and "no such port" in first["result"]
    assert len(run.of("background_ended")) == 1


async def test_the_model_hears_of_an_end_that_it_did_not_ask_for(driven, work):
    run = driven(start("s", "sleep 0.8; echo crashed; exit 9"), call("run_command", command="sleep 1"), READ, DONE)
    await run.run()
    assert "`s`, which ran in the background, ended: exit code 9" in run.heard()
    assert "crashed" in run.heard()
    run.assert_legal()


async def test_the_person_ends_it_by_its_name(driven):
    run = driven(start("s", SERVER), say("it runs"), say("ok"), loop=LoopKind.CHAT, task="serve")
    run.on("waiting", StopCommand(name="other"), StopCommand(name="s"), why="message")
    run.on("background_ended", Say(text="and now?"))
    run.on("waiting", STOP, why="message", nth=2)
    await run.run(watched=True)
    assert run.of("command_refused")[0]["why"] == "nothing runs in the background under `other`"
    assert run.of("background_ended")[0]["how"] == "stopped by the person"
    assert "The person ended `s`" in run.heard()


async def test_it_comes_before_the_gate_like_any_command(driven, work):
    run = driven(start("s", "touch made"), READ, DONE, gate=GateMode.ASK)
    await run.run()
    assert run.of("proposal_decided")[0]["decision"] == "reject"
    assert not run.of("background_started") and not (work / "made").exists()


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 40, "output:s", "s\n"])
async def test_a_name_that_is_none_is_refused(driven, name):
    run = driven(start(name, "true"), READ, DONE)
    await run.run()
    assert "is not a valid name" in run.of("tool_finished")[0]["result"]


def test_a_flag_on_run_command_is_refused_and_the_way_is_named():
    error = parse_arguments("run_command", '{"command": "x", "background": true}').error
    assert error is not None and "start_command" in error


async def test_what_it_changes_is_separate_from_the_models_edits_and_undone_alone(driven, work):
    run = driven(
        start("gen", "while ! grep -q ONE a.txt; do sleep 0.02; done; echo made > gen/made.txt; sleep 30"),
        edit("a.txt", "one", "ONE"),
        say("done"),
        say("I see"),
        loop=LoopKind.CHAT,
        task="x",
        live=["gen"],
    )

    def once_it_is_made(_: object) -> Say:
        end = time.monotonic() + 10
        while not (work / "gen/made.txt").exists():
            assert time.monotonic() < end
        return Say(text="look")

    run.on("waiting", once_it_is_made, why="message")
    run.on("waiting", Undo(confirmed=["gen/made.txt"]), why="message", nth=2)
    run.on("undone", STOP)
    outcome = await run.run(watched=True)
    by = [(e["path"], e["by"]) for e in run.of("file_changed")]
    assert by == [("a.txt", "model"), ("gen/made.txt", "background"), ("gen/made.txt", "undo")], run.story()
    assert run.of("file_changed")[1]["command"].startswith("gen: while")
    assert outcome.files_changed == ["a.txt"]
    assert not (work / "gen/made.txt").exists() and (work / "a.txt").read_text() == "ONE\n"


@needs_bubblewrap
async def test_it_writes_only_build_output_its_own_folder_and_what_the_user_named(driven, work):
    (work / ".gitignore").write_text("target/\ndata/\n")
    (work / "Cargo.toml").write_text("")
    for name in ("target", "data", "gen"):
        (work / name).mkdir()
    tries = "for at in a.txt target/x data/x gen/x .git/x /tmp/background-s/x; do echo 2> /dev/null > $at; done"
    run = driven(start("s", f"{tries}; ls /tmp/background-s; sleep 30"), READ, DONE, live=["gen"])
    await run.run()
    result = run.of("tool_finished")[0]["result"]
    line = "The workspace is read-only for it except gen, target; it can write other files to /tmp/background-s."
    assert line in result, run.story()
    assert (work / "a.txt").read_text() == "one\n" and not (work / "data/x").exists()
    assert (work / "target/x").exists() and (work / "gen/x").exists() and "\nx" in result


async def test_a_test_cannot_be_changed_by_it(driven, work):
    (work / "tests").mkdir()
    (work / "tests" / "test_x.py").write_text("assert False\n")
    run = driven(
        start("gen", "sleep 0.6; echo pass > tests/test_x.py; sleep 30"),
        call("run_command", command="sleep 0.9"),
        READ,
        then=say("hm"),
        until=["grep -q pass tests/test_x.py"],
    )
    outcome = await run.run()
    assert outcome.reason != "done", run.story()
    assert (work / "tests" / "test_x.py").read_text() == "assert False\n"


async def test_after_a_kill_the_resumed_run_says_what_no_longer_runs(driven):
    run = driven(start("server", SERVER), READ, DONE)
    await run.run()
    killed = run.killed_at("step_finished", number=1)
    killed.model.turns, killed.model.requests = [READ, DONE], []
    outcome = await killed.run()
    assert outcome.reason == "answered", killed.story()
    assert killed.of("background_ended")[0]["how"] == "it was stopped, because the program stopped"
    assert "No longer running in the background" in killed.heard()
    killed.assert_legal()


async def test_what_ended_can_still_be_read_after_a_resume(driven):
    run = driven(start("s", SERVER), call("stop_command", name="s"), READ, DONE)
    await run.run()
    killed = run.killed_at("step_finished", number=2)
    killed.model.turns, killed.model.requests = [call("read_file", path="output:s"), READ, DONE], []
    await killed.run()
    assert "1| listening" in killed.of("tool_finished")[0]["result"], killed.story()


@needs_bubblewrap
async def test_a_runner_that_is_killed_leaves_no_orphan_under_bubblewrap(tmp_path):
    marker = f"mark-{os.getpid()}-orphan"
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from rundry.agent.sandbox.sandbox import Sandbox\n"
        "async def main():\n"
        "    box = await Sandbox.detect()\n"
        "    assert box.kind == 'bubblewrap'\n"
        f"    cmd = ': {marker}; (setsid sleep 300 &) ; echo up; while :; do sleep 0.05; done'\n"
        "    await box.run(cmd, Path.cwd(), cwd=Path.cwd(), env={'PATH': '/usr/bin:/bin'}, timeout=1e9,\n"
        "                  on_output=lambda b: print(b.decode(), flush=True))\n"
        "asyncio.run(main())\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "up" in await asyncio.to_thread(child.stdout.readline)
    assert [pid for pid in running(marker) if pid != child.pid]
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    await gone(marker)


# the person's own commands


async def test_a_command_with_two_exclamation_marks_is_not_sent_to_the_model(driven, work):
    run = driven(READ, READ, DONE)
    run.on("step_started", Pause(), Shell(command="echo secret > mine.txt; cat mine.txt", tell=False), number=1)
    run.on("shell_finished", Unpause())
    outcome = await run.run()
    assert outcome.reason == "answered" and outcome.files_changed == []
    (ended,) = run.of("shell_finished")
    assert ended["output"] == "secret" and ended["files"] == ["mine.txt"] and ended["ok"]
    assert "secret" not in run.heard()


async def test_it_is_ended_by_an_interrupt_and_what_it_printed_is_kept(driven, work):
    run = driven(say("hello"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", Shell(command="echo began; touch begun; sleep 60"), why="message")
    run.on("shell_finished", STOP)
    task = asyncio.ensure_future(run.run(watched=True))
    await run.put_once(work / "begun", Interrupt())
    await task
    (ended,) = run.of("shell_finished")
    assert (ended["how"], ended["output"], ended["ok"]) == ("interrupted", "began", False)
    assert "(interrupted)" in next(e["text"] for e in run.of("prompted") if e["kind"] == "shell")


async def test_what_it_changes_while_a_command_of_the_model_runs_is_not_counted_as_the_models(driven, work):
    run = driven(call("run_command", command="sleep 2.0612; echo x > models.txt"), READ, DONE)
    task = asyncio.ensure_future(run.run())
    await begun("2.0612")
    await run.put_once(work / "a.txt", Shell(command="echo mine > mine.txt", tell=False))
    outcome = await task
    assert outcome.files_changed == ["models.txt"], run.story()
    assert (work / "mine.txt").read_text() == "mine\n"
