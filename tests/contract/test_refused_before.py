"""What cannot be reached is refused before there is a journal (REQUIREMENTS 4.1, 8.1, 12)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import CHECK
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import HttpError, Turn, call

NOBODY = ("--api-base", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (["--model", "openai/gpt-x"], "OPENAI_API_KEY"),
        (["--model", "gemini/gemini-2.5-flash"], "GEMINI_API_KEY"),
        (["--model", "fake", *NOBODY], "127.0.0.1:9"),
    ],
)
def test_a_model_that_cannot_be_reached_leaves_no_journal(home: Home, project: Path, model: list[str], named: str):
    ran = home.run("run", "fix", "--headless", "--until", CHECK, *model, cwd=project)
    assert ran.exit_code == 2, ran
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("rundry: ")]
    assert named in line
    assert home.journals() == []
    found = home.run("find", "--recipe", "research", "--task", "x", "--headless", *model, cwd=project)
    assert (found.exit_code, home.journals()) == (2, []), found


def test_the_json_of_a_refused_run_names_its_end_and_no_journal(home: Home, project: Path):
    ran = home.run("run", "fix", "--headless", "--json", "--until", CHECK, "--model", "fake", *NOBODY, cwd=project)
    assert [event["type"] for event in ran.events] == ["run_started", "run_ended"]
    assert (ran.outcome["reason"], ran.outcome["journal"], ran.exit_code) == ("refused", "", 2)
    assert home.journals() == []


@pytest.mark.parametrize("model", [["--model", "openai/gpt-x"], ["--model", "fake", *NOBODY]])
def test_a_screen_that_was_given_a_task_closes_with_one_line(home: Home, project: Path, model: list[str]):
    with home.screen("fix it", *model, cwd=project) as terminal:
        assert terminal.wait_for_exit() == 2
        assert "rundry: no " in terminal.text()
    assert home.journals() == []


def test_a_message_that_cannot_be_sent_is_given_back_and_another_model_takes_it(home: Home, project: Path):
    with (
        ScriptedServer([Turn(text="hello to you")]) as server,
        home.screen("--model", "fake", *NOBODY, cwd=project) as terminal,
    ):
        terminal.wait_for("what is to be done?")
        terminal.send("say hello")
        terminal.press("enter")
        terminal.wait_for("no model server at http://127.0.0.1:9/v1")
        terminal.wait_for("say hello")
        assert home.journals() == []
        assert server.requests == []


def test_a_run_whose_server_is_gone_stays_as_it_was(home: Home, project: Path):
    with ScriptedServer([call("write_file", path="a", content="b")], then=Turn(error=HttpError(500, "no"))) as server:
        argv = ["--until", "false", "--model", "fake", "--api-base", server.base_url, "--steps", "1", "--gate", "auto"]
        first = home.run("run", "fix", "--headless", "--json", *argv, cwd=project)
    (journal,) = home.journals()
    run_id = first.events[0]["run_id"]
    before = home.run("export", run_id, "--json", cwd=project).stdout or journal.read_bytes()
    ran = home.run("resume", run_id, "--headless", "--steps", "5", cwd=project)
    assert ran.exit_code == 75, ran
    assert "stays as it was" in ran.stderr
    assert (home.run("export", run_id, "--json", cwd=project).stdout or journal.read_bytes()) == before


def test_a_model_that_needs_litellm_says_what_it_waits_for(home: Home, project: Path):
    """cloudflare is one of them; its server is this machine's, so nothing leaves it."""
    with ScriptedServer([]) as server:
        argv = ["run", "fix", "--headless", "--until", CHECK, "--model", "cloudflare/x", "--steps", "1"]
        env = {"CLOUDFLARE_API_KEY": "k", "CLOUDFLARE_API_BASE": server.base_url}
        ran = home.run(*argv, cwd=project, env=env)
    assert "loading litellm for cloudflare/x: about 3 s" in ran.stderr
