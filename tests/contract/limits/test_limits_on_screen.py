"""Limits during a run: typed on the screen, changed from a second shell, and what they do there."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from fakes.models.model_by_role import NOTHING, READ, judge, report
from fakes.project import CHECK
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import LimitsChanged, LimitValue

HELD = Turn(text="I think about it for a while", hold_after=4)
SEARCH = 'task = "what is old"\ncritic = false\n[refute]\nsceptics = 1\n[[lens]]\nname = "survey"\nprompt = "look"\n'
EVERY = {
    "window": ("9", 9),
    "tool-error-rate": ("50%", 0.5),
    "tool-error-calls": ("7", 7),
    "check-timeout": ("1m", 60.0),
    "command-timeout": ("30s", 30.0),
    "park": ("5m", 300.0),
    "read_file": ("3/min", "3/min"),
}
OF_SEARCH = {
    "item-steps": ("6", 6),
    "dry-passes": ("4", 4),
    "refuters": ("2", 2),
    "retries": ("1", 1),
    "concurrency": ("3", 3),
}
OF_SCORE = {
    "pass-steps": ("5", 5),
    "patience": ("2", 2),
    "min-delta": ("0.5", 0.5),
    "repeat": ("3", 3),
    "tries": ("2", 2),
    "concurrency": ("4", 4),
}


def changed(home: Home) -> dict[str, LimitValue]:
    """All limits that changed in the newest run."""
    journal = Journal.open(home.journals()[-1])
    try:
        events = [stamped.event for stamped in journal.read()]
    finally:
        journal.close()
    return {name: value for event in events if isinstance(event, LimitsChanged) for name, value in event.limits.items()}


@pytest.mark.parametrize(
    ("argv", "limits"),
    [
        (["run", "look", "--until", CHECK], EVERY),
        (["find", "search.toml"], OF_SEARCH),
        (["run", "faster", "--score", "echo 5", "--steps", "9"], OF_SCORE),
    ],
    ids=["every run", "a search", "a score"],
)
def test_each_limit_is_typed_on_the_screen(
    home: Home, project: Path, argv: list[str], limits: dict[str, tuple[str, LimitValue]]
):
    (project / "search.toml").write_text(SEARCH)
    model, wanted = ["--model", "fake"], {name.replace("-", "_"): value for name, (_, value) in limits.items()}
    server = ScriptedServer([], then=HELD)
    with server, home.screen(*argv, *model, "--api-base", server.base_url, cwd=project) as terminal:
        server.wait_requests(1)
        terminal.wait_for("I think about" if argv[0] == "run" else "survey")
        for name, (typed, _) in limits.items():
            terminal.send(f"/limit {name} {typed}\r")
            terminal.wait_for(lambda _, n=name: n.replace("-", "_") in changed(home))
        terminal.send("/limit windw 3\r")
        terminal.wait_for("did you mean window?")
    assert changed(home) == wanted


def test_a_search_obeys_a_limit_that_changes_while_it_continues(home: Home, project: Path):
    (project / "search.toml").write_text(SEARCH)
    held = Turn(text=HELD.text, calls=NOTHING.calls, hold_after=4)
    with ScriptedServer([READ, held], then=NOTHING) as server:
        argv = ["find", "search.toml", "--model", "fake", "--api-base", server.base_url, "--headless", "--json"]
        with home.start(*argv, "--dry-passes", "9", cwd=project) as running:
            server.wait_requests(2)
            done = home.run("ctl", "limit", "dry-passes=1", "item-steps=4", cwd=project)
            assert done.exit_code == 0, done
            server.release()
            ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "dry"), ran.story()
    assert len(server.requests) == 2, ran.story()


def test_a_command_that_takes_longer_than_its_limit_is_ended(home: Home, project: Path):
    slow = call("run_command", command="echo begun; sleep 300; echo over")
    with ScriptedServer([slow, HELD, slow], then=say("that is it")) as server:
        argv = ["run", "look", "--headless", "--json", "--gate", "auto", "--model", "fake", "--steps", "4"]
        more = ["--api-base", server.base_url, "--command-timeout", "1s"]
        with home.start(*argv, *more, cwd=project) as running:
            running.wait_event("tool_finished")
            server.wait_requests(2)
            assert home.run("ctl", "limit", "command-timeout=2s", cwd=project).exit_code == 0
            server.release()
            ran = running.finish()
    first, second = ran.results("run_command")
    assert "begun" in first and "over" not in first
    assert ("1 s" in first, "2 s" in second) == (True, True), (first, second)


def runners(home: Home) -> list[int]:
    """Processes that drive a run of this home."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("RUNDRY_RUNS_DIR") == str(home.runs) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.long
def test_a_run_that_nobody_looks_at_parks_after_its_limit_and_can_be_resumed(home: Home, project: Path):
    edit = call("write_file", path="made.txt", content="x\n")
    with ScriptedServer([edit], then=say("that is it")) as server:
        argv = ["run", "look", "--model", "fake", "--api-base", server.base_url, "--park", "1s", "--gate", "ask"]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("made.txt")
            assert runners(home)
            terminal.hang_up()
            until = time.monotonic() + 60
            while runners(home) and time.monotonic() < until:
                psutil.wait_procs([psutil.Process(pid) for pid in runners(home) if psutil.pid_exists(pid)], timeout=1)
        assert runners(home) == []
        with home.screen("resume", cwd=project) as terminal:
            terminal.wait_for("made.txt")
    assert not (project / "made.txt").exists()


def test_two_findings_are_merged_from_the_shell(home: Home, project: Path):
    one, two = {"title": "a is old", "evidence": "NOTES.md:1"}, {"title": "b is stale", "evidence": "calc/core.py:1"}
    rules = [
        Rule("Try to refute it", judge("stands")),
        Rule(r"Your way to look is `survey`.*Look now\.(?!.*Pass 2)", report(one, two)),
        Rule("Your way to look is", NOTHING),
    ]
    (project / "search.toml").write_text(SEARCH)
    with ScriptedServer(rules=rules) as server:
        argv = ["find", "search.toml", "--model", "fake", "--api-base", server.base_url, "--headless", "--json"]
        ran = home.run(*argv, cwd=project)
    keys = list(dict.fromkeys(event["key"] for event in ran.of("finding_added", "finding_reported", "finding_judged")))
    assert len(keys) == 2, ran.story()
    run_id = home.journals()[0].stem
    done = home.run("ctl", run_id, "merge", *keys, cwd=project)
    assert done.exit_code == 0, done
    added = home.run("export", run_id, cwd=project).stdout.splitlines()[len(ran.events) :]
    assert any(keys[0] in line and keys[1] in line for line in added), added
    wrong = home.run("ctl", run_id, "merge", "nothing", keys[1], cwd=project)
    assert (wrong.exit_code in (1, 2), "nothing" in wrong.stderr) == (True, True), wrong
