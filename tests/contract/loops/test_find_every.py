"""`rundry find --every`: the same search again and again, each time as a child run."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran, Running
from fakes.server import ScriptedServer
from fakes.turns import Turn, call

NOTHING = call("report", found_new=False, reason="nothing", items=[], findings=[])

_WORKER = """\
import json, pathlib, sys, time
json.load(sys.stdin)
for second in range(600 if pathlib.Path("slow").exists() else 0):
    time.sleep(0.1)
names = json.loads(pathlib.Path("found.json").read_text())
print(json.dumps({"findings": [{"title": f"{n} is bad", "key": n, "evidence": "found.json:1"} for n in names]}))
"""
_SEARCH = """\
task = "find what is bad"
[[seed]]
kind = "value"
value = "start"
[worker]
command = ["{python}", "worker.py"]
"""
_LENSES = """\
task = "find what is bad"
[refute]
sceptics = 0
[budget]
steps = 20
[[lens]]
name = "look"
prompt = "Look at it."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "worker.py").write_text(_WORKER)
    (tmp_path / "search.toml").write_text(_SEARCH.format(python=sys.executable))
    finds(made, "a")
    return made


def finds(folder: Path, *names: str) -> None:
    """Let the next search find these."""
    (folder / "found.json").write_text(json.dumps(names))


def started(home: Home, folder: Path, *more: str, every: str = "1h") -> Running:
    limits = more or ("--steps", "50")
    argv = ["find", "../search.toml", "--trust", "--every", every, *limits, "--headless", "--json"]
    return home.start(*argv, cwd=folder)


def ctl(home: Home, folder: Path, *verb: str) -> None:
    """Send a command to the whole run."""
    done = home.run("ctl", min(home.journals()).stem, *verb, cwd=folder)  # ids sort by time: the first is the parent's
    assert done.exit_code == 0, done


def stopped(home: Home, folder: Path, run: Running) -> Ran:
    ctl(home, folder, "stop", "--now")
    return run.finish()


def test_each_search_is_a_child_run_and_names_what_is_new(home: Home, folder: Path):
    with started(home, folder) as running:
        for number, names in enumerate((["a"], ["a", "b"], ["b"], ["c", "a"]), 1):
            if number > 1:
                finds(folder, *names)
                running.wait_event("sleeping", why=f"search {number} is due")
                ctl(home, folder, "wake")
            running.wait_event("child_finished", number=number)
        ran = stopped(home, folder, running)
    ended = ran.of("child_finished")
    assert [[one["key"] for one in event["new"]] for event in ended] == [["a"], ["b"], [], ["c"]], ran.story()
    assert [event["reason"] for event in ended] == ["dry"] * 4 and ran.outcome["reason"] == "user"
    assert {event["loop"] for event in ran.of("child_started")} == {"until-dry"} and ran.outcome["steps"] == 4
    tree = home.run("runs", cwd=folder).stdout.splitlines()
    assert sum("─ find what is bad" in line for line in tree) == 4 and "repeat" in tree[0], tree


def test_the_next_search_starts_at_its_time(home: Home, folder: Path):
    with started(home, folder, every="2s") as running:
        running.wait_event("child_started", number=3)
        ran = stopped(home, folder, running)
    began = [event["at"] for event in ran.of("child_started")]
    assert began[1] - began[0] >= 2 and began[2] - began[1] >= 2, ran.story()


def test_lines_without_json_name_new_findings(home: Home, folder: Path):
    ran = home.run("find", "../search.toml", "--trust", "--every", "1s", "--steps", "2", "--headless", cwd=folder)
    lines = ran.stderr.splitlines()
    assert "run 1  new: a is bad (a)" in lines and "run 2  nothing new" in lines, ran
    assert (ran.exit_code, lines[-1].startswith("-> budget after 2 steps")) == (3, True), ran


def test_a_killed_tree_continues_with_the_search_that_was_open(home: Home, folder: Path):
    (folder / "slow").touch()
    with started(home, folder) as running:
        running.wait_event("child_started", number=1)
        running.signal(signal.SIGKILL)
        before = running.finish()
    (folder / "slow").unlink()
    run = str(before.of("run_started")[0]["run_id"])
    with home.start("resume", run, "--headless", "--json", cwd=folder) as running:
        running.wait_event("child_finished", number=1)
        running.wait_event("sleeping", why="search 2 is due")
        assert home.run("ctl", run, "stop", "--now", cwd=folder).exit_code == 0
        ran = running.finish()
    child = before.of("child_started")[0]["run_id"]
    assert [(event["run_id"], event["reason"]) for event in ran.of("child_finished")] == [(child, "dry")], ran.story()
    assert len(home.journals()) == 2 and ran.outcome["steps"] == 1


def test_a_stop_reaches_the_search_and_a_resume_continues_it(home: Home, folder: Path):
    (folder / "slow").touch()
    with started(home, folder) as running:
        running.wait_event("child_started", number=1)
        ran = stopped(home, folder, running)
    ended = ran.of("child_finished")[0]
    assert (ended["reason"], ended["resumes"], ran.exit_code) == ("user", True, 130), ran.story()
    (folder / "slow").unlink()
    run = str(ran.of("run_started")[0]["run_id"])
    with home.start("resume", run, "--headless", "--json", cwd=folder) as running:
        again = running.wait_event("child_finished", number=1)
        assert home.run("ctl", run, "stop", "--now", cwd=folder).exit_code == 0
        running.finish()
    assert (again["run_id"], again["reason"]) == (ended["run_id"], "dry")


def test_the_budget_of_the_whole_run_holds_for_the_calls_of_all_searches(home: Home, folder: Path):
    (folder.parent / "search.toml").write_text(_LENSES)
    with ScriptedServer(then=NOTHING) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        with started(home, folder, "--tokens", "20000", *model, every="1s") as running:
            ran = running.finish()
        billed = sum(request.usage.get("total_tokens", 0) for request in server.requests)
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran.story()
    assert len(ran.of("child_started")) > 1 and 0 < billed <= 20_000
    assert ran.outcome["tokens"]["in"] + ran.outcome["tokens"]["out"] == billed
    assert {event["budget"]["steps"] for event in ran.of("child_started")} == {20}


def looking(home: Home, folder: Path, server: ScriptedServer, *limits: str) -> Running:
    """A repeated search with one lens, whose calls are those of `server`."""
    (folder.parent / "search.toml").write_text(_LENSES)
    return started(home, folder, *limits, "--model", "fake", "--api-base", server.base_url)


def test_a_pause_of_the_run_pauses_the_search_until_the_run_continues(home: Home, folder: Path):
    with (
        ScriptedServer(then=Turn(tokens=200, hold_after=3)) as server,
        looking(home, folder, server, "--tokens", "200000") as running,
    ):
        child = running.wait_event("child_started", number=1)["run_id"]
        server.wait_requests(1)
        ctl(home, folder, "pause", "--now")
        running.wait_event("paused")
        server.then = NOTHING
        ctl(home, folder, "unpause")
        running.wait_event("child_finished", number=1)
        stopped(home, folder, running)
    types = [json.loads(line)["type"] for line in exported(home, folder, child)]
    assert types.index("paused") < types.index("unpaused") < types.index("run_ended"), types


def test_a_lower_limit_of_the_run_ends_the_search_and_the_run_with_one_reason(home: Home, folder: Path):
    with (
        ScriptedServer(then=call("read_file", path="worker.py")) as server,
        looking(home, folder, server, "--tokens", "200000", "--window", "500") as running,
    ):
        run_id = running.wait_event("run_started")["run_id"]
        child = running.wait_event("child_started", number=1)["run_id"]
        running.wait_event("child_spent")
        ctl(home, folder, "limit", "tokens=100")
        ran = running.finish()
    ended = [json.loads(line) for line in exported(home, folder, child) if '"type":"run_ended"' in line]
    assert (ran.exit_code, ran.outcome["reason"], len(ran.of("run_ended"))) == (3, "budget", 1), ran.story()
    assert [event["reason"] for event in ran.of("child_finished")] == ["budget"], ran.story()
    assert len(ended) == 1 and f"of the parent run {run_id}" in ended[0]["detail"]
    assert len(ran.of("child_started")) == 1


def exported(home: Home, folder: Path, run_id: str) -> list[str]:
    return home.run("export", run_id, "--format", "jsonl", cwd=folder).stdout.splitlines()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--every", "6h"], "needs an explicit budget"),
        (["--every", "6h", "--steps", "none"], "needs an explicit budget"),
        (["--every", "none", "--steps", "9"], "give a time of at least 1s"),
        (["--every", "0s", "--steps", "9"], "--every 0s: give a time of at least 1s"),
        (["--every", "6h", "--tokens", "none", "--usd", "none"], "needs an explicit budget"),
        (["--every", "soon", "--steps", "9"], "is not a duration"),
        (["--every", "6h", "--steps", "9", "--resume"], "rundry resume RUN"),
    ],
)
def test_a_repeated_search_that_cannot_be_is_refused_in_one_line(home: Home, folder: Path, more: list[str], said: str):
    ran = home.run("find", "../search.toml", "--trust", *more, "--headless", cwd=folder)
    assert ran.exit_code == 2 and said in ran.stderr and len(ran.stderr.splitlines()) == 1, ran
    assert not home.journals()
