"""Short options, mistyped commands, `--continue` and `--print` (docs/requirements.md 8.1, 10.1)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fakes.project import read
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, finish, say

CITED = "NOTES.md:1"


def model_of(server: ScriptedServer) -> list[str]:
    return ["-m", "fake", "--api-base", server.base_url]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["watc"], "`rundry watch`"),
        (["Watch"], "`rundry watch`"),
        (["hlep"], "`rundry help`"),
        (["mdoels"], "`rundry models`"),
        (["atch"], "`rundry watch`"),
        (["login"], "rundry models --all"),
        (["update"], "pipx upgrade rundry"),
        (["sessions"], "`rundry runs`"),
        (["serve"], "`rundry help`"),
        (["steer"], "`rundry ctl steer`"),
        (["/model"], "then type /model"),
        (["."], "--cwd"),
        (["20261122-220658-jdelr"], "rundry resume 20261122-220658-jdelr"),
        (["--headless", "watc"], "`rundry watch`"),
        (["-p", "watc"], "`rundry watch`"),
        (["modles", "--all"], "`rundry models`"),
        (["wtach", "the", "run"], "`rundry watch`"),
        (["--modle", "x", "fix it"], "'--model'"),
        (["-model", "x", "fix it"], "'--model'"),
        (["-modle", "x", "fix it"], "'--model'"),
        (["watch", "--qiet"], "'--quiet'"),
    ],
)
def test_a_mistyped_word_never_starts_a_session(home: Home, project: Path, argv: list[str], words: str):
    with ScriptedServer([read("NOTES.md")], then=finish("it ran", CITED)) as server:
        ran = home.run(*argv, cwd=project, env={"RUNDRY_MODEL": "fake", "RUNDRY_API_BASE": server.base_url})
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    assert words in line, ran
    assert ran.stdout == "" and home.journals() == []


@pytest.mark.parametrize(
    "argv", [["patch"], ["hey"], ["improve"], ["look around"], ["直して"], ["run", "watc"], ["--", "login"]]
)
def test_a_word_that_is_not_like_a_command_is_a_task(home: Home, project: Path, argv: list[str]):
    with ScriptedServer([read("NOTES.md")], then=finish("it ran", CITED)) as server:
        options = ["-p", *model_of(server)]
        ran = home.run(*(["run", *options, *argv[1:]] if argv[0] == "run" else [*options, *argv]), cwd=project)
        (request, *_) = server.requests
    assert (ran.exit_code, ran.stdout) == (0, "it ran\n"), ran
    assert argv[-1] in str(request.body["messages"])


def test_short_options_are_the_long_ones(home: Home, project: Path):
    assert home.run("-h", cwd=project).stdout == home.run("--help", cwd=project).stdout
    assert home.run("-V", cwd=project).stdout == home.run("--version", cwd=project).stdout
    assert home.run("ctl", "-h", cwd=project).stdout == home.run("ctl", "--help", cwd=project).stdout
    with ScriptedServer([read("NOTES.md")], then=finish("it ran", CITED)) as server:
        ran = home.run("-pm", "fake", "look", "--api-base", server.base_url, cwd=project)
    assert ran.stdout == "it ran\n", ran


def test_help_shows_the_help_of_a_command(home: Home, project: Path):
    assert home.run("help", cwd=project).stdout == home.run("--help", cwd=project).stdout
    assert home.run("help", "watch", cwd=project).stdout == home.run("watch", "--help", cwd=project).stdout
    for words, fix in ((["watc"], "`rundry help watch`"), (["fly"], "lists all"), (["watch", "x"], "one command")):
        ran = home.run("help", *words, cwd=project)
        assert (ran.exit_code, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1), ran
        assert fix in ran.stderr


def test_print_writes_only_the_answer_and_says_why_there_is_none(home: Home, project: Path):
    with ScriptedServer([read("NOTES.md")], then=finish("three files", CITED)) as server:
        ran = home.run("-p", "how many files?", *model_of(server), cwd=project)
        assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "three files\n", ""), ran
        limited = home.run("-p", "look", "--steps", "1", "--until", "test -f done", *model_of(server), cwd=project)
    assert limited.exit_code == 3, limited
    assert "step 1" not in limited.stderr
    *_, last = limited.stderr.splitlines()
    assert last.startswith("-> budget"), limited


@pytest.mark.parametrize(
    ("turn", "asked", "words"),
    [
        (say("", finish="content_filter"), 1, "filter"),
        (say("I can", finish="content_filter"), 1, "filter"),
        (say("", finish="refusal"), 1, "refused"),
        (say(""), 2, "answered nothing"),
    ],
    ids=["filtered", "filtered after some words", "refused", "empty"],
)
def test_print_says_that_an_answer_was_refused_or_empty(home: Home, project: Path, turn: Turn, asked: int, words: str):
    with ScriptedServer(then=turn) as server:
        ran = home.run("-p", "what is 6 times 7?", *model_of(server), cwd=project)
    assert (ran.exit_code, len(server.requests)) == (1, asked), ran
    assert words in ran.stderr.splitlines()[-1], ran
    assert json.loads(home.run("runs", "--json", cwd=project).stdout)[0]["reason"] == "error"


def test_print_takes_an_answer_in_text_as_the_answer(home: Home, project: Path):
    with ScriptedServer([say("")], then=say("It is 42.")) as server:
        ran = home.run("-p", "what is 6 times 7?", *model_of(server), cwd=project)
        assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "It is 42.\n", ""), ran
        assert len(server.requests) == 2, "an empty answer is not one"
        (line,) = json.loads(home.run("runs", "--json", cwd=project).stdout)
        assert line["reason"] == "answered"
        more = home.run("-c", "-p", "are you sure?", cwd=project)
        assert (more.exit_code, more.stdout) == (0, "It is 42.\n"), more
        checked = home.run("-p", "x", "--until", "test -f done", "--steps", "2", *model_of(server), cwd=project)
        plain = home.run("--headless", "x", "--steps", "2", *model_of(server), cwd=project)
    assert (checked.exit_code, plain.exit_code) == (3, 3), "a check decides, and without --print a finish is needed"


@pytest.mark.parametrize(("check", "said"), [("true", "check passed: true"), ("exit 3", "exit 3 (exit code 3)")])
def test_a_naive_run_reports_what_its_check_said(home: Home, project: Path, check: str, said: str):
    with ScriptedServer(then=say("done")) as server:
        argv = ["--headless", "--json", "x", "--loop", "naive", "--until", check, *model_of(server)]
        ran = home.run(*argv, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (6, "claimed"), ran
    assert said in ran.outcome["detail"]


def test_print_takes_the_task_or_more_of_it_from_a_pipe(home: Home, project: Path):
    turns = [read("NOTES.md"), finish("read", CITED), read("NOTES.md")]
    with ScriptedServer(turns, then=finish("read", CITED)) as server:
        alone = home.run("-p", *model_of(server), cwd=project, stdin="what is in NOTES.md?\n")
        both = home.run("-p", "explain this", *model_of(server), cwd=project, stdin="line one\nline two\n")
        first, second = (str(server.requests[at].body["messages"]) for at in (0, -1))
    assert alone.stdout == both.stdout == "read\n"
    assert "what is in NOTES.md?" in first and "<stdin>" not in first
    assert "explain this" in second and "line one" in second and "<stdin>" in second


def test_print_never_waits_for_a_pipe_that_stays_open_and_empty(home: Home, project: Path):
    reading, writing = os.pipe()
    try:
        with ScriptedServer([read("NOTES.md")], then=finish("read", CITED)) as server:
            done = subprocess.run(
                [str(RUNDRY), "-p", "explain this", *model_of(server)],
                cwd=project,
                env=home.env,
                stdin=reading,
                capture_output=True,
                text=True,
                timeout=60,
            )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout) == (0, "read\n"), done
    assert "</dev/null" in done.stderr


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-p"], "there is no task"),
        (["-p", "--json", "look"], "--json and --print"),
        (["resume", "--json"], "--json needs --headless"),
        (["-p", "fix", "the", "suite"], "put it in quotes"),
        (["-c"], "no run of"),
        (["-c", "-p", "more"], "no run of"),
        (["report", "--days", "x"], "--days: 'x' is not possible: write a number above 0"),
        (["report", "--days", "nan"], "--days: 'nan' is not possible: write a number above 0"),
        (["export", "--format", "pdf"], "--format: 'pdf' is not possible: write jsonl, "),
        (["watch", "--web", "--port", "nope"], "--port: 'nope' is not possible: write a whole number from 0 to 65535"),
        (["fork", "--at", "-1"], "--at: '-1' is not possible: write a whole number of at least 0"),
        (
            ["find", "--recipe", "migrate", "--check", "true", "--retries", "-1"],
            "'-1' is not a whole number of at least 0",
        ),
        (["completion", "tcsh"], "SHELL: 'tcsh' is not possible: write bash, zsh or fish"),
        (["find", "--recipe", "crawl", "--rate", "-1", "http://localhost/"], "--rate: '-1' is not possible"),
        (
            ["run", "--headless", "-m", "fake", "--api-base", "http://127.0.0.1:9/v1", "x", "--until", "echo '"],
            '--until "echo \'": the shell cannot read this command',
        ),
        (
            ["find", "-m", "none", "--recipe", "migrate", "--check", "if {file}"],
            "--check 'if {file}': the shell cannot read this command",
        ),
    ],
)
def test_options_that_cannot_work_are_refused_in_one_line(home: Home, project: Path, argv: list[str], words: str):
    ran = home.run(*argv, cwd=project)
    assert (ran.exit_code, ran.stdout) == (2, ""), ran
    (line,) = ran.stderr.splitlines()
    assert words in line
    assert home.journals() == []


def test_continue_sends_the_task_to_the_newest_run_even_if_it_is_done(home: Home, project: Path):
    with ScriptedServer([read("NOTES.md")], then=finish("first answer", CITED)) as server:
        first = home.run("-p", "look", *model_of(server), cwd=project)
        again = home.run("-c", "-p", "and the notes?", cwd=project)
        last = str(server.requests[-1].body["messages"])
    assert (first.exit_code, again.exit_code) == (0, 0), again
    assert len(home.journals()) == 1
    assert "look" in last and "and the notes?" in last


def test_continue_opens_the_chat_that_was_left(home: Home, project: Path):
    with ScriptedServer(then=say("the chat answers")) as server:
        with home.screen("look", "--loop", "chat", *model_of(server), cwd=project) as terminal:
            terminal.wait_for("the chat answers")
            terminal.press("ctrl+q")
            terminal.wait_for_exit()
        with home.screen("-c", cwd=project) as terminal:
            terminal.wait_for("the chat answers")
            terminal.press("ctrl+q")
            terminal.wait_for_exit()
    assert len(home.journals()) == 1
