"""How much a model reasons: on the wire, on the screen, switched during the run."""

from __future__ import annotations

from pathlib import Path

from fakes.project import CHECK
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, say


def test_effort_and_params_reach_the_server_and_resume_keeps_them(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("[model]\nparams = { seed = 7 }\n")
    with ScriptedServer([say("no")], then=say("no")) as server:
        argv = ["run", "fix", "--headless", "--json", "--until", CHECK, "--model", "fake", "--steps", "1"]
        ran = home.run(*argv, "--api-base", server.base_url, "--effort", "high", cwd=project)
        home.run("resume", ran.events[0]["run_id"], "--headless", "--steps", "2", cwd=project)
        home.run("resume", ran.events[0]["run_id"], "--headless", "--steps", "3", "--effort", "low", cwd=project)
    assert ran.events[0]["effort"] == "high"
    sent = [(r.body["reasoning_effort"], r.body["seed"]) for r in server.requests]
    assert sent[0] == ("high", 7)
    assert ("low", 7) in sent


def test_an_effort_that_is_none_ends_with_one_line(home: Home, project: Path):
    ran = home.run("run", "x", "--headless", "--model", "fake", "--effort", "huge", cwd=project)
    assert ran.exit_code == 2
    assert ran.stderr.count("\n") == 1
    assert "low, medium, high or xhigh" in ran.stderr


def test_doctor_shows_the_effort_and_where_it_came_from(home: Home, project: Path):
    shown = home.run("doctor", cwd=project, env={"RUNDRY_EFFORT": "low"}).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("effort")]
    assert line.split() == ["effort", "low", "environment", "RUNDRY_EFFORT"]


def test_doctor_shows_where_the_config_file_is_also_if_there_is_none(home: Home, project: Path):
    shown = home.run("doctor", cwd=project).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("config ")]
    assert line.endswith("rundry/config.toml")


def test_the_list_of_runs_marks_a_task_that_it_shortens(home: Home, project: Path):
    with ScriptedServer([Turn(text="hello")]) as server:
        home.run("run", "word " * 20, "--headless", "--model", "fake", "--api-base", server.base_url, cwd=project)
    (line,) = home.run("runs", cwd=project).stdout.splitlines()
    assert line.endswith("word word word…")


def test_the_header_shows_the_effort_and_a_slash_command_switches_it(home: Home, project: Path):
    with (
        ScriptedServer([Turn(text="hello"), Turn(text="goodbye")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, "--effort", "high", cwd=project) as terminal,
    ):
        terminal.wait_for("fake high")
        terminal.send("say hello")
        terminal.press("enter")
        terminal.wait_for("1  hello")
        terminal.wait_for("waiting for you")
        terminal.send("/effort low")
        terminal.wait_for("› /effort low")
        terminal.press("enter")
        terminal.wait_for("fake low")
        terminal.send("once more")
        terminal.press("enter")
        terminal.wait_for("2  goodbye")
    assert [r.body["reasoning_effort"] for r in server.requests] == ["high", "low"]
