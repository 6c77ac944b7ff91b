"""Bad input is one clear line that names the thing, exit code 2, and nothing changed (docs/requirements.md 12)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fakes.project import changed_files
from fakes.rundry import RUNDRY, Home, Ran
from fakes.server import ScriptedServer
from sampling import sampled

MODEL = ["--model", "fake", "--api-base", "http://127.0.0.1:9/v1"]
HEADLESS = ["run", "do it", "--headless", "--json", *MODEL]


def refused(ran: Ran, *names: str) -> str:
    """One line that names these things; no run, no trace."""
    assert ran.exit_code == 2, ran
    assert ran.stdout == "", "no events"
    lines = ran.stderr.strip().splitlines()
    assert len(lines) == 1, ran
    for name in names:
        assert name in lines[0], ran
    assert "Traceback" not in ran.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("argv", "names"),
    sampled(
        [
            ([*HEADLESS, "--no-such-flag"], ["--no-such-flag"]),
            ([*HEADLESS, "--steps", "many"], ["steps", "many"]),
            ([*HEADLESS, "--steps", "-3"], ["steps", "-3"]),
            ([*HEADLESS, "--tokens", "12x"], ["tokens", "12x"]),
            ([*HEADLESS, "--usd", "free"], ["usd", "free"]),
            ([*HEADLESS, "--usd", "nan"], ["usd", "nan"]),
            ([*HEADLESS, "--time", "soon"], ["time", "soon"]),
            ([*HEADLESS, "--price", "cheap"], ["price", "cheap"]),
            ([*HEADLESS, "--context", "12"], ["context", "12"]),
            ([*HEADLESS, "--gate", "open"], ["gate", "open", "auto"]),
            ([*HEADLESS, "--loop", "spiral"], ["loop", "spiral", "goal"]),
            ([*HEADLESS, "--loop", "chat"], ["chat"]),
            ([*HEADLESS, "--verify", "never"], ["verify", "never"]),
            ([*HEADLESS, "--on-ask", "cry"], ["on-ask", "cry"]),
            ([*HEADLESS, "--on-stall", "cry"], ["on-stall", "cry"]),
            ([*HEADLESS, "--deadline", "yesterday-ish"], ["deadline", "yesterday-ish"]),
            ([*HEADLESS, "--cwd", "no/such/folder"], ["no/such/folder"]),
            ([*HEADLESS, "--cwd", "NOTES.md"], ["NOTES.md"]),
            ([*HEADLESS, "--schema", "missing.json"], ["missing.json"]),
            ([*HEADLESS, "--schema", "NOTES.md"], ["NOTES.md"]),
            ([*HEADLESS, "--until-py", "missing.py:ready"], ["missing.py"]),
            ([*HEADLESS, "--until-py", "calc/core.py"], ["calc/core.py", ":"]),
            ([*HEADLESS, "--require", "no_such_tool"], ["no_such_tool"]),
            ([*HEADLESS, "--api-base", "not a url"], ["not a url"]),
            (["run", "do it", "--headless", "--json", "--model", "demo"], ["rundry demo"]),
            (["run", "--headless", "--json", *MODEL], ["task"]),
            (["run", "", "--headless", "--json", *MODEL], ["task"]),
            (["resume", "no-such-run", "--headless"], ["no-such-run"]),
            (["resume", "--headless"], ["run"]),
            (["watch", "no-such-run"], ["no-such-run"]),
            (["resume", "NOTES.md", "--headless"], ["NOTES.md"]),
            (["run", "\udcff\udcfe", "--headless", *MODEL], ["\\xff\\xfe", "UTF-8"]),
            (["fix", "the", "suite", "--headless", *MODEL], ["3 words", "rundry 'fix the suite'"]),
            (["resum", "abc", "--headless"], ["rundry resume"]),
            (["--json", "runs", "--steps", "3"], ["--steps"]),
            (["demo", "--model", "fake"], ["--model"]),
        ],
        12,
    ),
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_that_names_it(home: Home, project: Path, argv: list[str], names: list[str]):
    refused(home.run(*argv, cwd=project), *names)
    assert home.journals() == []
    assert changed_files(project) == []


def test_a_task_on_standard_input_that_is_not_text_is_one_line(home: Home, project: Path):
    argv = [RUNDRY, "run", "-", "--headless", *MODEL]
    done = subprocess.run(argv, cwd=project, env=home.env, input=b"fix\xff\xfe", capture_output=True, timeout=60)
    refused(Ran(done.returncode, done.stdout.decode(), done.stderr.decode()), "standard input", "UTF-8", "0xff")
    assert home.journals() == []


def test_a_screen_where_there_is_no_terminal_names_what_goes_without_one(home: Home, project: Path):
    with ScriptedServer() as server:
        argv = ["--headless", "--model", "fake", "--api-base", server.base_url, "look", "--until", "true"]
        assert home.run(*argv, cwd=project).exit_code == 0
    run_id = home.journals()[0].stem
    for argv, names in (
        (["run", "x"], "rundry run --headless"),
        (["resume", run_id], "rundry resume --headless"),
        (["watch"], "rundry export"),
        (["demo"], "rundry demo --headless"),
    ):
        refused(home.run(*argv, cwd=project), names)


def test_a_bad_value_in_the_users_config_names_the_file_and_the_key(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    for text, names in (
        ('[budget]\nsteps = "lots"\n', ["budget", "steps", "lots"]),
        ("stpes = 3\n", ["stpes"]),
        ("steps = = 3\n", []),
    ):
        home.config_file.write_text(text)
        refused(home.run(*HEADLESS, cwd=project), "config.toml", *names)
    assert home.journals() == []


def test_a_folder_that_cannot_be_written_is_named_with_the_fix(home: Home, project: Path):
    (project / "plain").write_text("a file, no folder")
    line = refused(home.run(*HEADLESS, "--runs-dir", "plain", "--until", "true", cwd=project), "plain")
    assert "--runs-dir" in line


def test_no_model_at_all_says_how_to_name_one(home: Home, project: Path):
    line = refused(home.run("run", "x", "--headless", "--json", cwd=project))
    assert "--model" in line


def test_an_unpriced_remote_model_with_a_dollar_limit_is_refused_until_it_has_a_price(home: Home, project: Path):
    argv = ["run", "x", "--headless", "--json", "--until", "false", "--model", "openai/nobody-knows", "--usd", "1"]
    ran = home.run(*argv, cwd=project, env={"OPENAI_API_KEY": "sk-none"})
    assert ran.exit_code == 2, ran
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("refused", 0)
    assert "--price" in ran.outcome["detail"]


def test_an_untrusted_project_config_is_ignored_with_one_line_and_trust_applies_it(home: Home, project: Path):
    (project / ".rundry.toml").write_text(
        'model = "evil/one"\napi_base = "http://127.0.0.1:9/evil"\n[budget]\nsteps = 7\n'
    )
    with ScriptedServer() as server:
        argv = ["run", "x", "--headless", "--until", "true", "--model", "fake", "--api-base", server.base_url]
        ignored = home.run(*argv, cwd=project)
        trusted = home.run(*argv, "--json", "--trust", cwd=project)
    assert ignored.exit_code == 0, ignored
    assert "evil" not in ignored.stderr
    (line,) = [line for line in ignored.stderr.splitlines() if ".rundry.toml" in line]
    assert "--trust" in line
    assert trusted.events[0]["budget"]["steps"] == 7, trusted
