"""A run that waits for its own job, by the real command: to its end, on the screen, killed in the middle, with `-p`."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, say

START = call("start_command", name="build", command="for i in 1 2 3; do echo part $i; sleep 1; done")
LONG = call("start_command", name="build", command="echo begun; sleep 300")
WAIT = call("wait_for", job="build")
BUILT = call("write_file", path="built", content="yes\n")


def model_of(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


def goal(server: ScriptedServer, *more: str) -> list[str]:
    return ["--until", "test -e built", "--scope", "built", "--gate", "auto", *model_of(server), *more]


def test_a_goal_run_waits_for_its_job_in_one_call_and_ends(home: Home, project: Path):
    with ScriptedServer([START, WAIT, BUILT]) as server:
        ran = home.run("run", "build it", *goal(server, "--headless", "--json"), cwd=project)
        assert "wait_for` instead of asking again" in server.requests[0].text
        assert len(server.requests) == 3, "no call was made while it waited"
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (0, "done", 3), ran
    (began,), (ended,) = ran.of("await_began"), ran.of("await_ended")
    assert began["name"] == "build" and ended["by"] == "met" and ended["seconds"] > 1.5
    assert "part 3" in ran.of("tool_finished")[1]["result"] and ran.outcome["ended_jobs"] == []


def test_a_job_that_still_runs_at_the_end_is_named_also_with_print(home: Home, project: Path):
    with ScriptedServer([LONG, say("It builds."), LONG]) as server:
        ran = home.run("-p", "build it", "--gate", "auto", *model_of(server), cwd=project)
        lines = home.run("run", "build it", *goal(server, "--headless", "--steps", "1"), cwd=project)
    assert (ran.exit_code, ran.stdout) == (0, "It builds.\n"), ran
    named = r"^jobs ended: build, after \d:\d\d: echo begun; sleep 300$"
    assert re.search(named, ran.stderr, re.M) and re.search(named, lines.stderr, re.M), (ran, lines)
    exported = home.run("export", "--format", "md", "--output", "-", cwd=project)
    assert "jobs ended" in exported.stdout and "sleep 300" in exported.stdout, exported


def test_after_kill_nine_the_resumed_run_continues_the_wait_and_names_what_its_job_became(home: Home, project: Path):
    hour = call("wait_for", seconds=6)
    with ScriptedServer([hour, LONG, WAIT, BUILT]) as server:
        with home.start("run", "build it", *goal(server, "--headless", "--json"), cwd=project) as running:
            until = running.wait_event("await_began")["until"]
            running.signal(signal.SIGKILL)
            assert running.finish().exit_code == -signal.SIGKILL
        with home.start("resume", "--headless", "--json", cwd=project) as running:
            running.wait_event("await_ended")
            assert abs(time.time() - until) < 5, "the wait ended when it would have"
            running.wait_event("await_began")
            running.signal(signal.SIGKILL)
            killed = running.finish()
        assert not [e for e in killed.of("await_began") if e["what"] == "time"], "it is the same wait"
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    (result,) = [e for e in ran.of("tool_finished") if e["tool"] == "wait_for"]
    assert result["result"] == "`build` ended, because the program was restarted. Start it again.", ran


def test_two_tries_wait_for_their_own_jobs_at_the_same_time(home: Home, project: Path):
    both = Turn(calls=(*START.calls, *WAIT.calls, *BUILT.calls))
    with ScriptedServer(rules=[Rule(rf"You are try {number} of", both) for number in (1, 2)], then=say("hm")) as server:
        ran = home.run("run", "build it", *goal(server, "--headless", "--json", "--tries", "2"), cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    ends = ran.of("await_ended")
    assert ends and all(e["by"] == "met" and e["seconds"] > 1 for e in ends), ran
    assert len({e["call_id"] for e in ran.of("await_began")}) == len(ends)
    results = [e["result"] for e in ran.of("tool_finished") if e["tool"] == "wait_for"]
    assert results and all(result.startswith("`build` ended: exit code 0.") for result in results), ran


def test_the_screen_shows_what_is_awaited_and_f9_ends_it(home: Home, project: Path):
    with ScriptedServer([LONG, WAIT, BUILT]) as server:
        with home.screen("build it", *goal(server), cwd=project) as terminal:
            terminal.wait_for("for the end of build")
            shown = terminal.text()
            assert re.search(r"waiting \d:\d\d of 10:00   for the end of build   until \d\d:\d\d:\d\d", shown), shown
            assert "F9 end wait" in shown and "wait for the end of build" in shown
            terminal.press("f9")
            terminal.wait_for("done")
            terminal.wait_for("jobs ended")
        assert "The person ended the wait" in server.requests[2].text
