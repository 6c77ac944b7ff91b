"""Any number of views on one run; each may go, and the runner too (docs/requirements.md 9.8)."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from fakes.project import CHECK, FIX_BOTH
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call

from rundry.agent.journal.claim import holder

HELD = Turn(text="I think about it for a while", hold_after=4)


def goal(server: ScriptedServer, *more: str) -> list[str]:
    """Arguments of a run that has to turn the suite green."""
    return ["fix the suite", "--until", CHECK, "--model", "fake", "--api-base", server.base_url, *more]


def runner_of(home: Home) -> int:
    """The process that drives the newest run."""
    held = holder(home.journals()[-1])
    assert held is not None
    return held.pid


def seen_at(terminal: Terminal, want: bytes, since: float) -> float:
    """When these bytes came to a terminal first, monotonic seconds."""
    terminal.wait_for_bytes(want)
    for at, data in list(terminal.output):
        if at >= since and want in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", data):
            return at
    raise AssertionError(f"{want!r} came in pieces\n{terminal.text()}")


def test_what_one_view_commands_every_other_one_sees_and_one_that_is_killed_is_not_missed(home: Home, project: Path):
    with ScriptedServer([HELD, FIX_BOTH]) as server:
        argv = goal(server, "--gate", "edits")
        with home.screen(*argv, cwd=project) as first:
            first.wait_for("I think about")
            with home.screen("watch", cwd=project) as second, home.screen("watch", cwd=project) as third:
                for view in (second, third):
                    view.wait_for("I think about")
                second.send("/limit steps 77\r")
                for view in (first, second, third):
                    view.wait_for("/77")
                second.signal(signal.SIGKILL)
                assert second.wait_for_exit() == -signal.SIGKILL
                third.press("f4")
                for view in (first, third):
                    view.wait_for("paused")
                third.press("f4")
                server.release()
                for view in (first, third):
                    view.wait_for(re.compile(r"done +check passed"))
    assert "a + b" in (project / "calc/core.py").read_text()


def test_a_view_whose_runner_was_killed_says_what_was_in_flight_and_takes_the_run_up(home: Home, project: Path):
    slow = call("run_command", command="echo begun > begun; sleep 600.25")
    with ScriptedServer([slow, FIX_BOTH]) as server:
        argv = ["run", *goal(server, "--gate", "auto"), "--headless", "--json"]
        with home.start(*argv, cwd=project) as running:
            running.wait_event("proposal_decided")
            with home.screen("watch", cwd=project) as view:
                view.wait_for(re.compile(r"run echo begun"))
                assert runner_of(home) == running.pid
                os.kill(running.pid, signal.SIGKILL)
                view.wait_for("The runner is gone")
                screen = view.wait_for("result unknown")
                assert "runner gone" in screen.splitlines()[0]
                assert f"rundry resume {home.journals()[0].stem}" in screen
                view.press("f4")
                view.wait_gone("The runner is gone")
                view.wait_for(re.compile(r"done +check passed"))
            running.finish()
    assert (project / "calc/core.py").read_text().count("a + b") == 1


def test_a_command_is_on_every_screen_within_a_moment(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, home.screen(*goal(server), cwd=project) as first:
        first.wait_for("I think about")
        with home.screen("watch", cwd=project) as other:
            other.wait_for("I think about")
            gaps: list[float] = []
            for limit in (61, 62, 63):
                began = time.monotonic()
                assert home.run("ctl", "limit", f"steps={limit}", cwd=project).exit_code == 0
                want = f"/{limit}".encode()
                gaps.append(abs(seen_at(first, want, began) - seen_at(other, want, began)))
            assert min(gaps) < 0.1, gaps
