"""The commands that need no run: doctor, models, runs, help (docs/requirements.md 8.1, 10.2, 13.3)."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer


def test_doctor_says_what_is_set_and_where_each_value_came_from(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("[budget]\nsteps = 12\n")
    ran = home.run("doctor", cwd=project)
    assert ran.exit_code in (0, 1), ran
    assert "12" in ran.stdout
    assert "config" in ran.stdout
    as_json = home.run("doctor", "--json", cwd=project)
    assert as_json.events, as_json


def test_the_exit_code_of_doctor_tells_bad_input_from_something_that_is_missing(home: Home, project: Path):
    model = ["--model", "ollama_chat/qwen3:8b"]
    assert home.run("doctor", *model, cwd=project).exit_code == 0
    assert home.run("doctor", cwd=project).exit_code == 1
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text('theme = "no-such-theme"\n')
    ran = home.run("doctor", *model, "--json", cwd=project)
    assert ran.exit_code == 2 and "no-such-theme" in json.loads(ran.stdout)["missing"][0], ran
    home.config_file.write_text("budget = 3\n")
    ran = home.run("doctor", *model, cwd=project)
    assert (ran.exit_code, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1), ran
    assert "Exit code 0: nothing is missing" in home.run("doctor", "--help", cwd=project).stdout


def test_doctor_says_what_holds_commands_and_whether_they_reach_the_network(home: Home, project: Path):
    told = json.loads(home.run("doctor", "--json", cwd=project).stdout)
    opened = home.run("doctor", "--network", cwd=project).stdout
    assert "network    open" in opened and "sandbox    " in opened
    if told["sandbox"] is None:
        assert told["network"] and told["not_held"]
    else:
        assert told["sandbox"] in opened and "off for commands" in home.run("doctor", cwd=project).stdout


def test_help_and_version_need_no_model(home: Home, project: Path):
    shown = home.run("--help", cwd=project)
    assert shown.exit_code == 0, shown
    for option in (
        "--model", "--api-base", "--loop", "--until", "--until-file", "--until-py", "--schema", "--require", "--guard",
        "--verify", "--steps", "--tokens", "--usd", "--time", "--context", "--cwd", "--any", "--deadline", "--price",
        "--gate", "--on-ask", "--on-stall", "--trust", "--continue", "--runs-dir",
        "--network",
    ):  # fmt: skip
        assert option in shown.stdout
    for default in ("40", "200,000", "0.50", "10"):
        assert default in shown.stdout
    assert home.run("--version", cwd=project).stdout.startswith("rundry, version 0.1.0 (commit ")


def test_help_says_how_a_run_ends_what_it_may_cost_and_where_it_is_kept(home: Home, project: Path):
    shown = home.run("--model", "x", "--help", cwd=project).stdout
    assert "rundry [OPTIONS] [TASK]" in shown
    for code in ("0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "75 ", "130 "):
        assert f"\n  {code}" in shown
    for words in (str(home.runs), str(home.config_file), "--steps none", "--headless --gate auto", "resume"):
        assert words in shown
    assert "[RUN]" in home.run("watch", "--help", cwd=project).stdout
    assert "--until" not in home.run("doctor", "--help", cwd=project).stdout


def test_options_may_stand_before_the_command_and_a_bare_task_is_a_run(home: Home, project: Path):
    with ScriptedServer() as server:
        model = ["--model", "fake", "--api-base", server.base_url, "--until", "true"]
        for argv in (
            [*model, "run", "look", "--headless"],
            ["look", "--headless", *model],
            ["--headless", *model, "look"],
            ["--cwd", "calc", "--headless", *model, "--", "run"],
        ):
            ran = home.run(*argv, cwd=project)
            assert ran.exit_code == 0, ran
            assert ran.stderr.splitlines()[-1].startswith("-> done"), ran
    listed = {
        Path(run["workspace"]).name: run["task"] for run in json.loads(home.run("--json", "runs", cwd=project).stdout)
    }
    assert listed == {"project": "look", "calc": "run"}
    (here,) = home.run("runs", "--cwd", "calc", cwd=project).stdout.splitlines()
    assert here.endswith("run")


def test_models_names_the_keys_that_are_set_and_never_shows_them(home: Home, project: Path):
    key = "sk-ant-canary-0123456789abcdefghij"
    shown = home.run("models", cwd=project, env={"ANTHROPIC_API_KEY": key})
    assert shown.exit_code == 0, shown
    assert "anthropic" in shown.stdout.lower()
    as_json = home.run("models", "--json", cwd=project, env={"ANTHROPIC_API_KEY": key})
    assert "anthropic" in as_json.stdout.lower()
    json.loads(as_json.stdout.splitlines()[0])
    assert key not in shown.stdout + shown.stderr + as_json.stdout + as_json.stderr


def test_runs_lists_them_with_their_outcomes(home: Home, project: Path):
    with ScriptedServer() as server:
        argv = ["run", "look", "--headless", "--json", "--until", "true", "--model", "fake"]
        ran = home.run(*argv, "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 0, ran
    listed = home.run("runs", "--json", cwd=project)
    assert listed.exit_code == 0, listed
    assert ran.events[0]["run_id"] in listed.stdout
    assert "done" in listed.stdout
    assert json.loads(listed.stdout) if listed.stdout.startswith("[") else listed.events


def test_doctor_names_the_origin_of_each_value_and_needs_trust_for_the_folder(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('model = "fake"\n[budget]\nsteps = 12\nusd = 1\n')
    (project / ".rundry.toml").write_text("[budget]\nsteps = 7\nusd = 2\n")

    def shown(*argv: str) -> dict[str, tuple[object, str]]:
        settings = json.loads(home.run("doctor", "--json", *argv, cwd=project).stdout)["settings"]
        return {name: (settings[name]["value"], settings[name]["origin"]) for name in ("steps", "usd", "tokens")}

    untrusted = shown()
    assert untrusted == {"steps": (12, "user config"), "usd": (1.0, "user config"), "tokens": (200_000, "default")}
    trusted = shown("--trust", "--steps", "3")
    assert (trusted["steps"][0], trusted["usd"][0]) == (3, 2.0)
    assert len({trusted["steps"][1], trusted["usd"][1], trusted["tokens"][1], "user config"}) == 4
    assert "not trusted" in home.run("doctor", cwd=project).stdout


def test_a_damaged_journal_is_listed_and_hides_no_other(home: Home, project: Path):
    with ScriptedServer() as server:
        argv = ["run", "look", "--headless", "--until", "true", "--model", "fake", "--api-base", server.base_url]
        assert home.run(*argv, cwd=project).exit_code == 0
    whole = home.journals()[0]
    damaged = whole.with_name("20200101-000000-aaaaa.db")
    damaged.write_bytes(b"\x93no journal\x00" * 400)
    listed = home.run("runs", cwd=project)
    assert listed.exit_code == 0, listed
    assert whole.stem in listed.stdout
    assert "damaged" in listed.stdout
    refused = home.run("resume", str(damaged), "--headless", cwd=project)
    assert refused.exit_code == 2, refused
    assert str(damaged) in refused.stderr
    assert len(refused.stderr.splitlines()) == 1, refused


def test_models_counts_the_providers_that_need_a_key_and_lists_them_on_request(home: Home, project: Path):
    short = home.run("models", cwd=project)
    assert "more providers need a key: rundry models --all lists them" in short.stdout
    whole = home.run("models", "--all", cwd=project)
    assert whole.exit_code == 0, whole
    for words in (("openai", "OPENAI_API_KEY"), ("bedrock", "AWS_PROFILE"), ("gemini", "GEMINI_API_KEY or GOOGLE")):
        assert any(all(word in line for word in words) for line in whole.stdout.splitlines()), words
    missing = json.loads(home.run("models", "--json", cwd=project).stdout)["missing"]
    assert {"provider": "groq", "needs": [["GROQ_API_KEY"]], "direct": True} in missing
