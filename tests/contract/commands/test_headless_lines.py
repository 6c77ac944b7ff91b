"""What `--headless` writes for people: answer on stdout, the rest on stderr (docs/requirements.md 10.1)."""

from __future__ import annotations

import shlex
from pathlib import Path

from fakes.project import read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, say

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\tdone \u202eevil\nsecond line"


def test_an_answer_never_steers_a_terminal_and_a_pipe_gets_its_words(home: Home, project: Path):
    with ScriptedServer(then=say(HOSTILE)) as server:
        argv = ["run", "look", "--headless", "--loop", "naive", "--model", "fake", "--api-base", server.base_url]
        piped = home.run(*argv, cwd=project)
        with home.screen(*argv, cwd=project) as terminal:
            assert terminal.wait_for_exit() == piped.exit_code == 6
            written = b"".join(data for _, data in terminal.output).decode()
    assert piped.stdout == "red\tdone \u202eevil\nsecond line\n"
    assert "\x1b" not in written
    assert "\x07" not in written
    assert "\u202e" not in written
    assert "␛[31mred" in written
    assert "second line" in written


def test_an_end_on_a_budget_names_the_command_that_continues_and_it_does(home: Home, project: Path):
    turns = [read("calc/core.py"), read("NOTES.md"), say("two are read")]
    until = ["--until", "test -f done"]
    with ScriptedServer(turns, then=call("write_file", path="done", content="yes\n")) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        first = home.run("look", "--headless", "--steps", "2", "--gate", "edits", *until, *model, cwd=project)
        assert first.exit_code == 3, first
        *_, on, outcome = first.stderr.splitlines()
        assert outcome.startswith("-> budget"), first
        words = shlex.split(on.removeprefix("resume with: "))
        assert words[:2] == ["rundry", "resume"]
        again = home.run("resume", home.journals()[0].stem, "--headless", cwd=project)
        assert again.exit_code == 3, again
        assert on in again.stderr.splitlines(), "without a raised limit it ends again, and says what raises it"
        raised = home.run(*words[1:], cwd=project)
    assert raised.exit_code == 0, raised
    assert "resume with" not in raised.stderr


def test_a_complete_run_names_the_command_that_continues_it_and_it_does(home: Home, project: Path):
    argv = ["look", "--headless", "--until", "test -f done", "--scope", "done", "--gate", "edits"]
    writes = call("write_file", path="done", content="yes\n")
    with ScriptedServer([writes], then=say("I looked again")) as server:
        first = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
        assert first.exit_code == 0, first
        (on,) = [line for line in first.stderr.splitlines() if line.startswith("continue with: ")]
        words = shlex.split(on.removeprefix("continue with: ").replace("...", "look again"))
        again = home.run(*words[1:], "--headless", cwd=project)
    assert again.exit_code == 0, again
    assert "look again" in server.requests[-1].text, "the hint reaches the model"
