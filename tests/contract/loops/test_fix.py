"""`rundry fix`: one goal run for each confirmed finding of a search, with a share of one budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.nested.ended import ended
from fakes.nested.fixing import fixes, idles, make_search
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer

from rundry.tui.control.end_words import end_line

NAMES = ["a.txt", "b.txt", "c.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project"


def fix(home: Home, server: ScriptedServer, folder: Path, run: str, *argv: str) -> Ran:
    base = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--headless", "--json"]
    return home.run("fix", run, "--until", "grep -q good {file}", *base, *argv, cwd=folder)


def journal_events(home: Home, run_id: str) -> list[dict[str, Any]]:
    ran = home.run("export", run_id, "--format", "jsonl", cwd=home.root)
    assert ran.exit_code == 0, ran
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_each_finding_becomes_a_goal_run_with_its_own_check_and_outcome(home: Home, folder: Path):
    run = make_search(home, folder, NAMES)
    with ScriptedServer(rules=fixes(NAMES)) as server:
        ran = fix(home, server, folder, run, "--tokens", "600k")
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (0, "done", True), ran
    assert [(folder / name).read_text() for name in NAMES] == ["good\n"] * 3
    children = ran.outcome["children"]
    assert [(each["about"], each["reason"], each["steps"]) for each in children] == [(n, "done", 1) for n in NAMES]
    assert ran.outcome["steps"] == 3
    started = ran.of("child_started")
    assert started[0]["budget"]["tokens"] == 200_000
    for name, each in zip(NAMES, started, strict=True):
        events = journal_events(home, str(each["run_id"]))
        first = next(event for event in events if event["type"] == "run_started")
        assert first["loop"] == "goal" and first["parent"]["run_id"] == ran.of("run_started")[0]["run_id"]
        checks = [event["command"] for event in events if event["type"] == "check_finished"]
        assert checks == [f"grep -q good {name}"] * 2
        assert events[-1]["type"] == "run_ended" and events[-1]["reason"] == "done"
        assert [event["grade"] for event in events if event["type"] == "judged"] == ["judged"]


def test_a_finding_in_a_test_is_handed_over(home: Home, folder: Path):
    run = make_search(home, folder, ["test_a.txt"])
    with ScriptedServer(rules=fixes(["test_a.txt"])) as server:
        ran = fix(home, server, folder, run, "--tokens", "600k")
    assert (ran.exit_code, ran.outcome["detail"]) == (6, "0 of 1 finding done, 1 handoff"), ran


def test_a_field_in_the_name_of_a_file_is_not_filled(home: Home, folder: Path):
    name = "{title};touch hit.txt"
    run = make_search(home, folder, [name])
    with ScriptedServer(rules=fixes([name])) as server:
        ran = fix(home, server, folder, run, "--tokens", "600k")
    assert ran.outcome["reason"] == "done", ran
    events = journal_events(home, str(ran.of("child_started")[0]["run_id"]))
    checks = {event["command"] for event in events if event["type"] == "check_finished"}
    assert checks == {f"grep -q good '{name}'"} and not (folder / "hit.txt").exists()


def test_the_outcome_is_partial_if_a_child_ends_without_its_goal(home: Home, folder: Path):
    run = make_search(home, folder, NAMES)
    with ScriptedServer(rules=[idles("a.txt"), *fixes(NAMES[1:])]) as server:
        ran = fix(home, server, folder, run, "--tokens", "2M")
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (6, "partial", False), ran
    assert ran.outcome["detail"] == "2 of 3 findings done, 1 stagnation"
    assert [child["files_changed"] for child in ran.outcome["children"]] == [[], ["b.txt"], ["c.txt"]]
    assert end_line(ended(ran)).endswith("; 2 files changed by child runs")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--until", "true"], "a run with child runs needs an explicit budget"),
        (["--until", "true", "--usd", "none"], "a run with child runs needs an explicit budget"),
        (["--usd", "1"], "needs a check for each finding: add --until CMD"),
        (["--until", "echo '{title}'", "--usd", "1"], "{title} cannot be used there: it is between quotes"),
        (["--until", "sh -c {title}", "--usd", "1"], "sh -c could run its value as a program"),
    ],
)
def test_a_fix_run_without_a_budget_or_a_safe_check_is_refused_in_one_line(
    home: Home, folder: Path, argv: list[str], said: str
):
    run = make_search(home, folder, NAMES[:1])
    before = sorted(home.runs.glob("*.db"))
    ran = home.run("fix", run, "--model", "fake", "--headless", *argv, cwd=folder)
    assert ran.exit_code == 2 and said in ran.stderr and len(ran.stderr.splitlines()) == 1, ran
    assert sorted(home.runs.glob("*.db")) == before


def test_only_a_finished_search_with_confirmed_findings_can_be_fixed(home: Home, folder: Path):
    run = make_search(home, folder, [])
    ran = home.run("fix", run, "--until", "true", "--usd", "1", "--model", "fake", "--headless", cwd=folder)
    assert ran.exit_code == 2 and "has no confirmed finding" in ran.stderr, ran
