"""The tree of a fix run: its budget across kills, resume, stop, pause and changed limits."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest
from fakes.nested.fixing import fixes, idles, make_search
from fakes.rundry import Home, Ran, Running
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call
from sampling import sampled

NAMES = ["a.txt", "b.txt", "c.txt"]
HEADLESS = ["--gate", "auto", "--headless", "--json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project"


def begin(home: Home, server: ScriptedServer, folder: Path, names: list[str], *argv: str) -> Running:
    run = make_search(home, folder, names)
    base = ["--model", "fake", "--api-base", server.base_url, *HEADLESS]
    return home.start("fix", run, "--until", "grep -q good {file}", *base, *argv, cwd=folder)


def resume(home: Home, folder: Path, run_id: str, *argv: str) -> Ran:
    return home.run("resume", run_id, "--headless", "--json", "--from", "0", *argv, cwd=folder)


def held(name: str) -> Rule:
    """A model whose answer about this file does not arrive."""
    return Rule(f"{name} is bad", Turn(tokens=200, hold_after=3))


def reads(name: str) -> Rule:
    """A model that reads its file again and again."""
    return Rule(f"{name} is bad", call("read_file", path=name))


def billed(server: ScriptedServer) -> int:
    return sum(int(record.usage.get("total_tokens", 0)) for record in server.requests)


@pytest.mark.parametrize("seed", sampled(range(12), 0))
def test_children_never_pass_the_budget_of_their_parent_however_often_they_are_killed(
    home: Home, folder: Path, seed: int
):
    chance, limit = random.Random(seed), 40_000
    names = [f"{letter}.txt" for letter in "abcdef"]
    with ScriptedServer(rules=[reads(name) for name in names]) as server:
        with begin(home, server, folder, names, "--tokens", str(limit), "--window", "500") as running:
            run_id = running.wait_event("run_started")["run_id"]
            for _ in range(chance.randint(1, 4)):
                running.wait_event("child_spent")
            running.signal(signal.SIGKILL)
            running.finish()
        for _ in range(4):
            again = ["resume", run_id, "--headless", "--json"]
            with home.start(*again, cwd=folder) as running:
                for _ in range(chance.randint(1, 6)):
                    running.wait_event("child_spent")
                running.signal(signal.SIGKILL)
                running.finish()
        ran = resume(home, folder, run_id)
        assert ran.exit_code == 3 and ran.outcome["reason"] == "budget", ran
        assert 0 < billed(server) <= limit
    charged = ran.outcome["tokens"]["in"] + ran.outcome["tokens"]["out"]
    assert charged <= limit


def test_after_kill_9_the_unfinished_child_continues_first_and_none_is_worked_twice(home: Home, folder: Path):
    with ScriptedServer(rules=[*fixes(NAMES[:1]), held("b.txt"), *fixes(NAMES[2:])]) as server:
        with begin(home, server, folder, NAMES, "--tokens", "2M") as running:
            run_id = running.wait_event("run_started")["run_id"]
            second = running.wait_event("child_started", number=2)["run_id"]
            server.wait_requests(2)
            running.signal(signal.SIGKILL)
            running.finish()
        server.rules = fixes(NAMES)
        ran = home.run("resume", "--headless", "--json", "--from", "0", cwd=folder)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert ran.events[0]["run_id"] == run_id
    assert [(e["number"], e["reason"]) for e in ran.of("child_finished")] == [(1, "done"), (2, "done"), (3, "done")]
    assert ran.outcome["children"][1]["run_id"] == second
    assert len({e["run_id"] for e in ran.of("child_started")}) == 3


def test_a_stop_of_the_parent_stops_the_child_and_a_resume_continues_it(home: Home, folder: Path):
    with ScriptedServer(rules=[held("a.txt"), *fixes(NAMES[1:])]) as server:
        with begin(home, server, folder, NAMES, "--tokens", "2M") as running:
            run_id = running.wait_event("run_started")["run_id"]
            server.wait_requests(1)
            assert home.run("ctl", run_id, "stop", "--now", cwd=folder).exit_code == 0
            ran = running.finish()
        assert (ran.exit_code, ran.outcome["reason"]) == (130, "user"), ran
        (child,) = ran.outcome["children"]
        assert child["reason"] == "user"
        server.rules = fixes(NAMES)
        ran = resume(home, folder, run_id)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert ran.outcome["children"][0]["run_id"] == child["run_id"] and len(ran.outcome["children"]) == 3


def test_a_pause_of_the_parent_pauses_the_child_until_the_parent_continues(home: Home, folder: Path):
    with (
        ScriptedServer(rules=[held("a.txt"), *fixes(NAMES[1:])]) as server,
        begin(home, server, folder, NAMES, "--tokens", "2M") as running,
    ):
        run_id = running.wait_event("run_started")["run_id"]
        child = running.wait_event("child_started", number=1)["run_id"]
        server.wait_requests(1)
        assert home.run("ctl", run_id, "pause", "--now", cwd=folder).exit_code == 0
        running.wait_event("paused")
        server.rules = fixes(NAMES)
        assert home.run("ctl", run_id, "unpause", cwd=folder).exit_code == 0
        ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    lines = home.run("export", child, "--format", "jsonl", cwd=folder).stdout
    assert '"type":"paused"' in lines and '"type":"unpaused"' in lines


def test_an_unpause_of_the_parent_continues_a_child_that_only_itself_is_paused(home: Home, folder: Path):
    with (
        ScriptedServer(rules=[held("a.txt"), *fixes(NAMES[1:])]) as server,
        begin(home, server, folder, NAMES, "--tokens", "2M") as running,
    ):
        run_id = running.wait_event("run_started")["run_id"]
        child = running.wait_event("child_started", number=1)["run_id"]
        server.wait_requests(1)
        early = home.run("ctl", run_id, "unpause", cwd=folder)
        assert (early.exit_code, "the run is not paused" in early.stderr) == (1, True), early
        assert home.run("ctl", child, "pause", "--now", cwd=folder).exit_code == 0
        running.wait_event("child_waiting", why="pause")
        server.rules = fixes(NAMES)
        assert home.run("ctl", run_id, "unpause", cwd=folder).exit_code == 0
        ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert not ran.of("paused")


def test_a_lower_limit_of_the_parent_stops_the_calls_of_the_child(home: Home, folder: Path):
    with (
        ScriptedServer(rules=[reads("a.txt")]) as server,
        begin(home, server, folder, NAMES[:1], "--tokens", "2M", "--window", "500") as running,
    ):
        run_id = running.wait_event("run_started")["run_id"]
        running.wait_event("child_spent")
        assert home.run("ctl", run_id, "limit", "tokens=100", cwd=folder).exit_code == 0
        ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
    assert f"of the parent run {run_id}" in ran.outcome["children"][0]["detail"]


def test_a_child_resumed_by_itself_is_held_to_the_budget_of_its_parent(home: Home, folder: Path):
    with ScriptedServer(rules=[reads("a.txt"), idles("b.txt")]) as server:
        with begin(home, server, folder, NAMES[:2], "--steps", "6", "--window", "500") as running:
            ran = running.finish()
        assert ran.outcome["reason"] == "budget", ran
        child = str(ran.outcome["children"][0]["run_id"])
        alone = home.run("resume", child, "--headless", "--json", "--steps", "100", cwd=folder)
    assert alone.exit_code == 3, alone
    spent = alone.outcome["steps"] + sum(each["steps"] for each in ran.outcome["children"][1:])
    assert spent == 6 and "of the parent run" in alone.outcome["detail"]


def test_the_list_of_runs_shows_the_children_below_their_parent(home: Home, folder: Path):
    with ScriptedServer(rules=fixes(NAMES)) as server, begin(home, server, folder, NAMES, "--tokens", "2M") as running:
        ran = running.finish()
    run_id = ran.events[0]["run_id"]
    children = [each["run_id"] for each in ran.outcome["children"]]
    lines = home.run("runs", cwd=folder).stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == [run_id, *children]
    assert ["└─ Fix: " in line for line in lines] == [False, True, True, True, False]
    listed = json.loads(home.run("runs", "--json", cwd=folder).stdout)
    assert {run["run_id"]: run["parent"] for run in listed} == {
        lines[4].split()[0]: None,
        run_id: None,
        **dict.fromkeys(children, run_id),
    }
