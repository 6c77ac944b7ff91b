"""The spec file of a search: every field counts, and what is wrong is one line with the place and the fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rundry.agent.protocol import Lens, Recipe, RunSpec, Seed, UserError, WorkerSpec
from rundry.agent.settings.search.search_file import read_finder
from rundry.tui.start.find_setup import FindSetup, requested_search

TASK = 'task = "look"\n'
LENS = '[[lens]]\nname = "one"\nprompt = "look"\n'
SEED = '[[seed]]\nkind = "value"\nvalue = "x"\n'
WORKER = '[worker]\ncommand = ["true"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "search.toml"


def test_every_field_of_a_file_reaches_the_search(file):
    file.write_text(
        'task = " find it "\nconcurrency = 5\nretries = 1\ncritic = false\nhosts = ["example.org"]\n'
        '[model]\nname = "m/x"\napi_base = "http://h/v1"\ncontext = 8000\nprice = "1/2"\n'
        '[budget]\nsteps = 200\ntokens = 2_000_000\nusd = 5.0\ntime = "30m"\n'
        "[dry]\npasses = 4\n[refute]\nsceptics = 5\n"
        '[[lens]]\nname = "taint"\nprompt = "follow"\nmodel = "m/y"\n[[lens]]\nname = "sinks"\nprompt = "backwards"\n'
        '[[seed]]\nkind = "file"\nvalue = "src/app.py"\n'
    )
    wanted = read_finder(file)
    finder = wanted.finder
    assert wanted.task == "find it"
    assert finder.lenses == [
        Lens(name="taint", prompt="follow", model="m/y"),
        Lens(name="sinks", prompt="backwards"),
    ]
    assert finder.seeds == [Seed(kind="file", value="src/app.py")]
    assert (finder.concurrency, finder.retries, finder.dry_passes, finder.sceptics) == (5, 1, 4, 5)
    assert (finder.critic, finder.hosts, finder.source) == (False, ["example.org"], str(file))
    assert wanted.options == {
        "steps": "200",
        "tokens": "2000000",
        "usd": "5",
        "time": "30m",
        "model": "m/x",
        "api_base": "http://h/v1",
        "context": "8000",
        "price": "1/2",
    }


def test_a_limit_can_be_taken_away_and_a_time_is_seconds_or_a_duration(file):
    file.write_text(f'{TASK}[budget]\nsteps = "none"\nusd = "none"\ntime = 90\n{LENS}')
    assert read_finder(file).options == {"steps": "none", "usd": "none", "time": "90"}


@pytest.mark.parametrize(
    ("timeout", "seconds"), [('"30s"', 30.0), ('"1m30s"', 90.0), ("30", 30.0), ("0.5", 0.5), ('"90"', 90.0)]
)
def test_a_workers_time_is_a_duration_or_seconds(file, timeout, seconds):
    file.write_text(f"{TASK}{SEED}{WORKER}timeout = {timeout}\n")
    assert read_finder(file).finder.worker == WorkerSpec(command=["true"], timeout=seconds)


def test_a_worker_needs_no_model_and_may_be_a_function_or_the_crawler(file):
    file.write_text(f'{TASK}{SEED}[worker]\npython = "tools.look:work"\n')
    wanted = read_finder(file)
    assert (wanted.options["model"], wanted.finder.worker) == ("none", WorkerSpec(python="tools.look:work"))
    file.write_text(f'{TASK}[[seed]]\nkind = "url"\nvalue = "http://localhost/"\n[worker]\nrecipe = "crawl"\n')
    wanted = read_finder(file)
    assert (wanted.options["model"], wanted.finder.recipe, wanted.finder.worker) == ("none", Recipe.CRAWL, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["needs a task"]),
        (LENS, ["needs a task"]),
        ("task = ", ["not TOML"]),
        ("\x00", ["not TOML"]),
        ('task = " "\n' + LENS, ["task is empty"]),
        ("task = 3\n" + LENS, ["task: write a text"]),
        (TASK + "lenses = 3\n" + LENS, ["unknown field 'lenses'", "did you mean lens?"]),
        (TASK + LENS + 'promt = "x"\n', ["[[lens]] 1", "'promt'", "prompt"]),
        (TASK + "[budget]\nminutes = 3\n" + LENS, ["[budget]", "'minutes'", "steps, tokens, usd, time"]),
        (TASK + "[model]\nkey = 'sk'\n" + LENS, ["[model]", "'key'"]),
        (TASK + '[[lens]]\nname = "a"\n', ["[[lens]] 1 needs a prompt"]),
        (TASK + LENS + '[[lens]]\nname = " "\nprompt = "p"\n', ["[[lens]] 2 name is empty"]),
        (TASK + '[lens]\nname = "a"\nprompt = "p"\n', ["[[lens]]"]),
        (TASK + LENS + LENS, ["two lenses", "'one'"]),
        (TASK + LENS + WORKER, ["[worker]", "[[lens]]", "leave one"]),
        (TASK, ["nothing is searched", "[[lens]]", "[[seed]]"]),
        (TASK + WORKER, ["nothing is searched", "[[seed]]"]),
        (TASK + '[[seed]]\nkind = "page"\nvalue = "x"\n', ["[[seed]] 1", "'page'", "file, url, value"]),
        (TASK + '[[seed]]\nkind = "value"\nvalue = ""\n' + WORKER, ["[[seed]] 1 value is empty"]),
        (TASK + SEED + "[worker]\n", ["command, python and recipe", "none of them"]),
        (TASK + SEED + WORKER + 'python = "m:f"\n', ["command and python"]),
        (TASK + SEED + '[worker]\ncommand = "python3 w.py"\n', ["[worker] command", "list"]),
        (TASK + SEED + '[worker]\ncommand = [""]\n', ["does not name a program"]),
        (TASK + SEED + '[worker]\npython = "work"\n', ["'work'", "module:function"]),
        (TASK + SEED + '[worker]\nrecipe = "research"\n', ["'research'", "crawl"]),
        (TASK + SEED + '[worker]\nrecipe = "crawl"\n', ["x", "http://"]),
        (TASK + SEED + WORKER + "timeout = 0\n", ["timeout", "30s"]),
        (TASK + SEED + WORKER + "timeout = -1.5\n", ["timeout", "-1.5"]),
        (TASK + SEED + WORKER + "timeout = inf\n", ["timeout", "inf"]),
        (TASK + SEED + WORKER + 'timeout = "none"\n', ["timeout", "none"]),
        (TASK + SEED + WORKER + 'timeout = "soon"\n', ["[worker] timeout", "'soon'"]),
        (TASK + '[budget]\ntime = "soon"\n' + LENS, ["[budget] time", "'soon'"]),
        (TASK + "[budget]\nsteps = -1\n" + LENS, ["[budget] steps", "-1"]),
        (TASK + "[budget]\nsteps = 1.5\n" + LENS, ["[budget] steps"]),
        (TASK + '[budget]\nusd = "much"\n' + LENS, ["[budget] usd", "'much'"]),
        (TASK + '[model]\nprice = "cheap"\n' + LENS, ["[model] price", "'cheap'"]),
        (TASK + "concurrency = 0\n" + LENS, ["concurrency", "1 to 1024"]),
        (TASK + "concurrency = 2000\n" + LENS, ["concurrency", "1 to 1024"]),
        (TASK + "concurrency = true\n" + LENS, ["concurrency", "a whole number"]),
        (TASK + 'retries = "often"\n' + LENS, ["retries", "a whole number", "a text"]),
        (TASK + "retries = -1\n" + LENS, ["retries", "0 or more"]),
        (TASK + "[dry]\npasses = 0\n" + LENS, ["[dry] passes", "1 or more"]),
        (TASK + "[refute]\nsceptics = -1\n" + LENS, ["[refute] sceptics"]),
        (TASK + 'hosts = "example.org"\n' + LENS, ["hosts", "a list"]),
        (TASK + "hosts = [3]\n" + LENS, ["hosts", "a text"]),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line_with_the_place_and_the_fix(file, text, words):
    file.write_text(text)
    with pytest.raises(UserError) as raised:
        read_finder(file)
    said = str(raised.value)
    assert said.startswith(f"{file}: ")
    assert "\n" not in said
    for word in words:
        assert word in said, said


def test_a_file_that_is_missing_or_not_text_is_reported(file, tmp_path):
    with pytest.raises(UserError, match="No such file"):
        read_finder(file)
    with pytest.raises(UserError, match="directory"):
        read_finder(tmp_path)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        read_finder(file)


def setup_of(path: Path, **flags: object) -> RunSpec:
    given = {"cwd": str(path.parent), "trust": True, **flags}
    return FindSetup(requested_search([str(path)], given), given, headless=True).spec("look")


def test_requested_verifiers_are_refused_where_there_is_no_model(file):
    file.write_text(TASK + "[refute]\nsceptics = 3\n" + SEED + WORKER)
    with pytest.raises(UserError, match=r"3 verifiers requested, but no model .* sceptics = 0"):
        setup_of(file)
    judged = setup_of(file, model="openai/x").finder
    assert judged is not None and judged.sceptics == 3


def test_without_a_model_nobody_judges_what_a_worker_finds_and_that_is_reported(file):
    file.write_text(TASK + SEED + WORKER)
    assert [found.sceptics for found in (setup_of(file).finder, setup_of(file, model="openai/x").finder) if found] == [
        0,
        3,
    ]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("no-such-worker", "no-such-worker was not found"),
        ("worker.sh", "write ./worker.sh"),
        ("./worker.sh", "not executable: run chmod"),
        ("./gone.sh", "./gone.sh was not found"),
    ],
)
def test_a_worker_whose_program_is_not_there_is_refused_before_the_run(file, program, words):
    (file.parent / "worker.sh").write_text("#!/bin/sh\n")
    file.write_text(TASK + SEED + f'[worker]\ncommand = ["{program}"]\n')
    with pytest.raises(UserError, match=re.escape(words)):
        setup_of(file)


def test_a_worker_in_the_workspace_is_found_from_there(file):
    (file.parent / "worker.sh").write_text("#!/bin/sh\n")
    (file.parent / "worker.sh").chmod(0o755)
    file.write_text(TASK + SEED + '[worker]\ncommand = ["./worker.sh"]\n')
    found = setup_of(file).finder
    assert found is not None and found.worker == WorkerSpec(command=["./worker.sh"])
