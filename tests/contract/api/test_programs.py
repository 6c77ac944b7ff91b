"""Programs that forget to close a run, are interrupted, forked or killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import psutil
import pytest
from fakes.project import FIX_ADD, changed_files
from fakes.server import ScriptedServer
from fakes.turns import Turn

import rundry

from .conftest import Program
from .test_runs import runners

HELD = Turn(text="I think about it for a while", hold_after=4)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, f"not within 60 s: {what}"
        time.sleep(0.05)


def only_run() -> rundry.RunLine:
    (line,) = rundry.runs()
    return line


@pytest.mark.long
def test_a_forgotten_close_stops_the_run_at_the_exit_of_the_interpreter(home, project):
    with ScriptedServer([HELD]) as server:
        program = Program(home, project, server).start(
            "run = rundry.start('fix it', **OPTIONS)\nprint(run.id, flush=True)\ninput()"
        )
        out, errors = _after_request(program, server)
        assert program.returncode == 1, errors  # input() has no input
        assert "ResourceWarning: a rundry.Run was not closed: its run is being stopped" in errors
        wait_until(lambda: runners(home) == [], "its process is gone")
    assert only_run().reason is rundry.Reason.USER
    assert only_run().run_id == out.strip()


def test_an_object_that_is_collected_stops_its_run(home, project):
    with ScriptedServer([HELD]) as server:
        program = Program(home, project, server).start(
            "import gc, time\nfrom rundry.agent import Journal, holder\n"
            "run = rundry.start('fix it', **OPTIONS)\npath = run.journal\ndel run\n"
            "end = time.monotonic() + 30\n"
            "while holder(path) is not None and time.monotonic() < end: time.sleep(0.05)\n"
            "print('gone' if holder(path) is None else 'left')\n"
        )
        out, errors = program.communicate(timeout=90)
        assert (out, program.returncode) == ("gone\n", 0), errors
        assert "was not closed" in errors
    assert only_run().reason is rundry.Reason.USER


def test_ctrl_c_reaches_the_program_alone_which_stops_its_run(home, project):
    with ScriptedServer([HELD]) as server:
        program = Program(home, project, server).start(
            "try:\n"
            "    with rundry.start('fix it', **OPTIONS) as run:\n"
            "        run.wait()\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n"
        )
        server.wait_requests(1)
        program.send_signal(signal.SIGINT)
        out, errors = program.communicate(timeout=90)
        assert (out, program.returncode) == ("interrupted\n", 0), errors
        assert "Warning" not in errors
        assert runners(home) == []
    assert only_run().reason is rundry.Reason.USER


def test_a_forked_child_neither_stops_nor_uses_the_run_of_its_parent(home, project):
    with ScriptedServer([HELD]) as server:
        program = Program(home, project, server).start(
            "import os, sys\n"
            "with rundry.start('fix it', **OPTIONS) as run:\n"
            "    if os.fork() == 0:\n"
            "        try:\n"
            "            run.status\n"
            "        except rundry.UserError as error:\n"
            "            print(error, flush=True)\n"
            "        sys.exit(0)\n"  # runs the end of the block and what runs at an exit
            "    os.wait()\n"
            "    print(run.status != 'ended', run.outcome)\n"
        )
        out, errors = program.communicate(timeout=90)
    assert out.splitlines() == [
        "this object belongs to the process that made it: call rundry.attach() here",
        "True None",
    ], errors


@pytest.mark.long
def test_a_killed_program_leaves_the_run_to_a_person_with_its_proposal_open(home, project):
    with ScriptedServer([FIX_ADD]) as server:
        program = Program(home, project, server).start(
            "run = rundry.start('fix it', **OPTIONS, attended=True)\n"
            "request = next(run.requests())\nprint('waits', flush=True)\ninput()\n"
        )
        assert program.stdout is not None
        program.stdout.readline()
        program.kill()
        program.communicate()
        wait_until(lambda: runners(home) == [], "the run handed over")
        assert changed_files(project) == []
        with rundry.attach(only_run().run_id) as run:
            assert run.outcome is not None
            assert run.outcome.reason is rundry.Reason.HANDOFF
            (proposal,) = run.proposals
            run.reject(proposal, "not now")  # resumes the run, which its block then stops
            assert run.status != "ended"
    assert runners(home) == []


@pytest.mark.long
def test_a_run_whose_process_was_killed_says_so_and_can_be_resumed(home, project):
    with (
        ScriptedServer([HELD, HELD]) as server,
        rundry.start("fix it", **Program(home, project, server).options) as run,
    ):
        server.wait_requests(1)
        for pid in runners(home):
            psutil.Process(pid).kill()
        with pytest.raises(rundry.Interrupted, match="resume"):
            run.wait()
        assert run.status == "interrupted"
        run.resume()
        server.wait_requests(2)
        assert run.status == "working"


def _after_request(program, server: ScriptedServer) -> tuple[str, str]:
    server.wait_requests(1)
    return program.communicate(input="", timeout=90)
