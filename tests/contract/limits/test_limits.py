"""Limits of every kind: on the command line, in a config file, in a run in progress, in one that is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say
from sampling import sampled

READ = call("read_file", path="calc/core.py")
MISSING = [call("read_file", path=f"missing/{number}.py") for number in range(40)]
HELD = Turn(text="I think about it for a while", hold_after=4)


def run(home: Home, server: ScriptedServer, project: Path, *more: str) -> Ran:
    argv = ["run", "look around", "--headless", "--json", "--on-stall", "stop", "--model", "fake"]
    return home.run(*argv, "--api-base", server.base_url, *more, cwd=project)


def reads(ran: Ran) -> int:
    return len([result for result in ran.results("read_file") if not result.startswith("refused")])


@pytest.mark.parametrize("window", [2, 6])
def test_a_window_that_was_set_decides_when_a_repeat_is_a_stall(home: Home, project: Path, window: int):
    with ScriptedServer([READ] * 30) as server:
        ran = run(home, server, project, "--window", str(window), "--steps", "30")
    assert ran.exit_code == 4, ran.story()
    hint = next(event for event in ran.of("stall_detected"))
    assert (hint["response"], hint["step"]) == ("hint", max(2, window - 1))
    assert ran.outcome["steps"] == max(2, window - 1) + window


def test_a_rate_of_failed_calls_that_was_set_in_the_config_ends_the_run(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('tool_error_rate = "50%"\ntool_error_calls = 4\nwindow = 50\n')
    turns = [turn for pair in zip(MISSING, [call("list_files", path="."), READ] * 9, strict=False) for turn in pair]
    with ScriptedServer(turns) as server:
        ran = run(home, server, project)
    assert (ran.exit_code, ran.outcome["reason"]) == (4, "tool-errors"), ran.story()
    assert "2 of the last 4 calls failed" in ran.outcome["detail"]


def test_a_quota_on_the_command_line_adds_to_those_of_the_config(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('[quota]\nread_file = "9/run"\nlist_files = "0/run"\n')
    turns = [READ, call("list_files", path="."), *MISSING]
    with ScriptedServer(turns) as server:
        ran = run(home, server, project, "--quota", "read_file=1/run", "--quota", "list_files=none")
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran.story()
    assert "quota: read_file 1/run" in ran.outcome["detail"]
    assert reads(ran) == 1
    assert not [result for result in ran.results("list_files") if result.startswith("refused")]


@pytest.mark.parametrize(
    ("argv", "said"),
    sampled(
        [
            (["--quota", "run_comand=3/min"], ["run_comand", "did you mean run_command?"]),
            (["--quota", "run_command"], ["TOOL=RATE"]),
            (["--quota", "run_command=3/fortnight"], ["3/fortnight", "30/min"]),
            (["--window", "1"], ["--window", "at least 2"]),
            (["--window", "none"], ["--window", "switched off"]),
            (["--tool-error-rate", "1.5"], ["--tool-error-rate", "0.8"]),
            (["--tool-error-rate", "0"], ["--tool-error-rate", "0.8"]),
            (["--tool-error-calls", "0"], ["--tool-error-calls", "at least 1"]),
            (["--check-timeout", "soon"], ["--check-timeout", "soon"]),
            (["--command-timeout", "2h"], ["--command-timeout", "3,600"]),
            (["--park", "-1"], ["--park"]),
            (["--pass-steps", "0"], ["--pass-steps"]),
            (["--min-delta", "much"], ["--min-delta", "'much' is not a number of at least 0"]),
            (["--min-delta", "-1"], ["--min-delta", "'-1'"]),
            (["--min-delta", "1e999"], ["--min-delta", "'1e999'"]),
        ],
        6,
    ),
)
def test_a_limit_that_cannot_be_is_one_line_and_no_run(home: Home, project: Path, argv: list[str], said: list[str]):
    ran = home.run(
        "run", "look", "--headless", "--model", "fake", "--api-base", "http://127.0.0.1:9", *argv, cwd=project
    )
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    assert all(word in line for word in said), line
    assert home.journals() == []


def test_the_help_names_each_limit_with_its_default(home: Home, project: Path):
    shown = " ".join(home.run("run", "--help", cwd=project).stdout.split())
    for flag, default in (
        ("--window", "(4)"),
        ("--tool-error-rate", "(0.8)"),
        ("--tool-error-calls", "(10)"),
        ("--check-timeout", "(5m)"),
        ("--command-timeout", "(2m)"),
        ("--park", "(30m)"),
        ("--quota", "run_command=30/min"),
    ):
        assert default in shown.partition(f"{flag} ")[2][:160], flag
    shown = " ".join(home.run("find", "--help", cwd=project).stdout.split())
    for flag, default in (
        ("--item-steps", "(15)"),
        ("--dry-passes", "(2)"),
        ("--refuters", "(3)"),
        ("--retries", "(3)"),
        ("--concurrency", "(8)"),
        ("--window", "(4)"),
    ):
        assert default in shown.partition(f"{flag} ")[2][:160], flag


def test_limits_that_change_during_the_run_hold_for_the_next_call_and_after_a_resume(home: Home, project: Path):
    argv = ["run", "look around", "--headless", "--json", "--on-stall", "stop", "--model", "fake"]
    with ScriptedServer([HELD, READ, HELD, READ, *[say("done")] * 9]) as server:
        with home.start(*argv, "--api-base", server.base_url, cwd=project) as running:
            running.wait_event("text_arrived")

            def ctl(*words: str) -> Ran:
                return home.run("ctl", *words, cwd=project)

            assert ctl("limit", "read_file=1/run", "window=9", "check-timeout=1m").exit_code == 0
            wrong = ctl("limit", "windw=3")
            assert (wrong.exit_code, "did you mean window?" in wrong.stderr) == (2, True), wrong
            refused = ctl("limit", "patience=3")
            assert (refused.exit_code, "--score" in refused.stderr) == (1, True), refused
            assert ctl("steer", "go on").exit_code == 0
            running.wait_event("tool_finished")
            running.wait_event("text_arrived")
            assert ctl("stop", "--now").exit_code == 0
            first = running.finish()
        run_id = home.journals()[0].stem
        again = home.run("resume", run_id, "--headless", "--json", "--hint", "more", "--steps", "9", cwd=project)
    assert first.of("limits_changed")[0]["limits"] == {"read_file": "1/run"}
    assert again.results("read_file")[-1].startswith("refused: the quota of read_file"), again.story()


def test_a_resume_takes_limits_and_refuses_one_that_the_run_does_not_have(home: Home, project: Path):
    with ScriptedServer([READ, say("that is it"), READ, *[say("done")] * 9]) as server:
        run(home, server, project, "--steps", "1")
        (journal,) = home.journals()
        size = journal.stat().st_mtime_ns
        wrong = home.run("resume", journal.stem, "--headless", "--patience", "4", cwd=project)
        assert (wrong.exit_code, "--patience" in wrong.stderr, "--score" in wrong.stderr) == (2, True, True), wrong
        assert journal.stat().st_mtime_ns == size
        more = ["--steps", "9", "--quota", "read_file=1/run", "--window", "7"]
        ran = home.run("resume", journal.stem, "--headless", "--json", *more, cwd=project)
    assert ran.of("limits_changed")[0]["limits"] == {"window": 7, "read_file": "1/run"}
    assert ran.results("read_file")[-1].startswith("refused: the quota of read_file"), ran.story()


def test_limits_of_a_search_come_from_the_command_line_its_file_and_the_config(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("[find]\nretries = 1\ndry_passes = 5\nconcurrency = 4\nitem_steps = 6\n")
    (project / "worker.sh").write_text("#!/bin/sh\necho '{}'\n")
    (project / "worker.sh").chmod(0o755)
    (project / "search.toml").write_text(
        'task = "look"\nretries = 2\n[dry]\npasses = 3\n[[seed]]\nkind = "value"\nvalue = "x"\n'
        '[worker]\ncommand = ["./worker.sh"]\n[quota]\nread_file = "3/min"\n'
    )
    ran = home.run("find", "search.toml", "--trust", "--headless", "--json", "--dry-passes", "1", cwd=project)
    assert ran.exit_code == 0, ran
    finder = ran.events[0]["finder"]
    assert (finder["dry_passes"], finder["retries"], finder["concurrency"]) == (1, 2, 4)
    wrong = home.run("find", "search.toml", "--trust", "--headless", "--concurrency", "0", cwd=project)
    assert (wrong.exit_code, "--concurrency" in wrong.stderr) == (2, True), wrong
    crawl = ["find", "--recipe", "crawl", "http://127.0.0.1:9/", "--headless", "--refuters", "2"]
    wrong = home.run(*crawl, cwd=project)
    assert (wrong.exit_code, "--refuters" in wrong.stderr) == (2, True), wrong


def test_the_doctor_shows_each_limit_and_where_it_came_from(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("window = 6\n")
    told = json.loads(home.run("doctor", "--json", cwd=project).stdout)["settings"]
    assert told["window"] == {"value": 6, "origin": "user config"}
    assert told["tool_error_rate"] == {"value": 0.8, "origin": "default"}
