"""The recipes of docs/how-to/recipes.md, over a scripted model: an audit, a migration and a goal run, by name."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.models.model_by_role import NOTHING, judge, report
from fakes.project import FIX_ADD, FIX_MEAN, make_project
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, edit, finish

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import FilledFile, RunSpec

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "recipes.md"
BLOCK = re.compile(r"^```toml (\S+)\n(.*?)^```", re.M | re.S)


@pytest.fixture
def recipes(home: Home) -> Path:
    """The recipes of the page in the user's folder."""
    folder = home.config_file.parent / "recipes"
    folder.mkdir(parents=True)
    for name, text in BLOCK.findall(PAGE.read_text("utf-8")):
        (folder / name).write_text(text)
    assert sorted(path.stem for path in folder.iterdir()) == ["audit", "drop-import", "make-tests-pass"]
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "place"
    (folder / "my src").mkdir(parents=True)
    (folder / "my src" / "app.py").write_text("import os\n\nVALUE = 1\n")
    (folder / "my src" / "util.py").write_text("VALUE = 2\n")
    yield folder


def spec_of(home: Home) -> RunSpec:
    journal = Journal.open_for_reading(home.journals()[-1])
    try:
        return journal.spec
    finally:
        journal.close()


def test_an_audit_searches_with_its_lenses_and_asks_the_verifiers_that_were_set(home: Home, recipes: Path, place: Path):
    rules = [
        Rule("Try to refute it", judge("stands")),
        Rule("seems to have run dry", call("propose", reason="nothing is missing")),
        Rule(r"Your way to look is `returns`.*Follow each return value in my src.*Look now\.(?!.*Pass 2)",
             report({"title": "an error is lost", "evidence": "my src/app.py:1"})),
        Rule("Your way to look is", NOTHING),
    ]  # fmt: skip
    with ScriptedServer(rules=rules) as server:
        argv = ["find", "audit", "--set", "path=my src", "--set", "verifiers=1"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, "--headless", cwd=place)
    assert ran.exit_code == 0, ran
    assert "confirmed  an error is lost by 1 of 1" in ran.stderr, ran
    spec = spec_of(home)
    assert spec.task == "Find every place in my src where an error can be lost."
    assert spec.file == FilledFile(path=str(recipes / "audit.toml"), values={"path": "my src", "verifiers": 1})
    assert (
        spec.finder is not None
        and spec.finder.lenses[0].prompt == "Read every `except` in my src and ask what it hides."
    )


def test_a_migration_fixes_the_files_that_fail_the_filled_check(home: Home, recipes: Path, place: Path):
    with ScriptedServer([edit("my src/app.py", "import os\n\n", "")]) as server:
        argv = ["find", "drop-import", "--set", "module=os", "--set", "globs=my src/*.py"]
        ran = home.run(
            *argv, "--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--headless", cwd=place
        )
    assert ran.exit_code == 0, ran
    assert "scan  2 files checked, 1 fail" in ran.stderr, ran
    assert (place / "my src" / "app.py").read_text() == "VALUE = 1\n"
    finder = spec_of(home).finder
    assert finder is not None
    assert (finder.recipe, finder.check) == ("migrate", "! grep -qx -e import\\ os {file}")


def test_a_hostile_module_stays_a_word_of_the_check(home: Home, recipes: Path, place: Path):
    value = "os'; touch pwned; echo '"
    with ScriptedServer([Turn(text="I do nothing.")]) as server:
        argv = ["find", "drop-import", "--set", f"module={value}", "--set", "globs=my src/*.py"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, "--headless", cwd=place)
    assert "scan  2 files checked, 0 fail" in ran.stderr, ran
    assert sorted(path.name for path in place.rglob("*")) == ["app.py", "my src", "util.py"]


TURNS = [FIX_ADD, FIX_MEAN, finish("fixed", "calc/core.py")]


def test_a_goal_recipe_makes_the_tests_pass_with_the_tools_and_gate_of_its_file(
    home: Home, recipes: Path, tmp_path: Path
):
    project = make_project(tmp_path / "project")
    with ScriptedServer(TURNS) as server:
        argv = ["run", "make-tests-pass", "--model", "fake", "--api-base", server.base_url]
        ran = home.run(*argv, "--set", "path=tests", "--headless", "--json", cwd=project)
    assert ran.exit_code == 0, ran
    assert ran.outcome["reason"] == "done"
    spec = spec_of(home)
    assert spec.predicates.until == ["python3 -m unittest discover -q -s tests"]
    assert (spec.gate.mode, spec.gate.unsandboxed_ok, spec.budget.steps) == ("edits", False, 30)
    offered = {tool["function"]["name"] for tool in server.requests[0].body["tools"]}
    assert offered == {"read_file", "search", "edit_file", "run_command", "finish"}


def test_a_flag_overrides_the_file_of_a_goal_run(home: Home, recipes: Path, tmp_path: Path):
    project = make_project(tmp_path / "project")
    with ScriptedServer([call("read_file", path="calc/core.py")]) as server:
        argv = ["run", "make-tests-pass", "--model", "fake", "--api-base", server.base_url, "--steps", "1"]
        ran = home.run(*argv, "--gate", "ask", "--headless", "--json", cwd=project)
    assert ran.exit_code == 3, ran
    assert (spec_of(home).gate.mode, spec_of(home).budget.steps) == ("ask", 1)


def test_a_run_of_a_recipe_is_resumed_without_its_file(home: Home, recipes: Path, tmp_path: Path):
    project = make_project(tmp_path / "project")
    with ScriptedServer([FIX_ADD, Turn(text="One step is done."), *TURNS[1:]]) as server:
        argv = ["run", "make-tests-pass", "--model", "fake", "--api-base", server.base_url, "--steps", "1"]
        first = home.run(*argv, "--set", "path=tests", "--headless", cwd=project)
        assert first.exit_code == 3, first
        shutil.rmtree(recipes)
        ran = home.run("resume", "--steps", "9", "--headless", "--json", cwd=project)
    assert ran.outcome["reason"] == "done", ran
    assert spec_of(home).file == FilledFile(path=str(recipes / "make-tests-pass.toml"), values={"path": "tests"})


def test_a_word_that_names_no_recipe_is_still_a_task(home: Home, recipes: Path, tmp_path: Path):
    project = make_project(tmp_path / "project")
    with ScriptedServer([finish("hello", "calc/core.py")]) as server:
        ran = home.run("run", "hello", "--model", "fake", "--api-base", server.base_url, "--headless", cwd=project)
    assert spec_of(home).task == "hello", ran
    assert spec_of(home).file is None


def test_a_goal_file_opens_the_screen_with_its_task(home: Home, recipes: Path, tmp_path: Path):
    project = make_project(tmp_path / "project")
    shutil.copy(recipes / "make-tests-pass.toml", project)
    with ScriptedServer([Turn(text="I look at it.", hold_after=1)]) as server:
        argv = ["run", "make-tests-pass.toml", "--trust", "--set", "path=tests"]
        argv += ["--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as screen:
            screen.wait_for("Make the tests in tests pass.")
            screen.wait_for("2 failing")
    assert (spec_of(home).gate.mode, spec_of(home).attended) == ("edits", True)


HOSTILE = [
    "$(touch pwned)",
    "; touch pwned",
    "x\ntouch pwned\n",
    "' ; touch pwned; '",
    "-c touch pwned",
    "--x=`touch y`",
]
CHECK = '#!/bin/sh\n[ $# = 2 ] && [ "$(printf %s. "$2")" = "$(cat "$1"; printf .)" ] && [ ! -e pwned ]\n'


def test_hostile_values_reach_the_check_as_one_argument_each(home: Home, tmp_path: Path):
    (tmp_path / "check").write_text(CHECK)
    (tmp_path / "check").chmod(0o755)
    lines, given = ["kind = 'goal'\ntask = 't'\n"], list[str]()
    for number, value in enumerate(HOSTILE):
        (tmp_path / f"v{number}").write_text(value)
        lines.append(f"[parameters.v{number}]\ntype = 'string'\n")
        given += ["--set", f"v{number}={value}"]
    checks = [f"./check v{n} {{set:v{n}}} && sh -c './check v{n} \"$1\"' _ {{set:v{n}}}" for n in range(len(HOSTILE))]
    (tmp_path / "g.toml").write_text(f"{lines[0]}until = {json.dumps(checks)}\n{''.join(lines[1:])}")
    with ScriptedServer(rules=[]) as server:
        argv = ["run", "g.toml", "--trust", *given, "--headless", "--model", "fake", "--api-base", server.base_url]
        ran = home.run(*argv, "--json", cwd=tmp_path)
    assert ran.outcome["reason"] == "done", ran
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "line",
    ["echo {set:v} | sh", "flock l -c {set:v}", "git -c {set:v} status", "test -v {set:v}", "gdb -ex {set:v}",
     "sqlite3 x {set:v}"],
)  # fmt: skip
def test_a_recipe_that_would_run_a_value_is_refused_and_runs_nothing(home: Home, tmp_path: Path, line: str):
    (tmp_path / "g.toml").write_text(f"kind='goal'\ntask='t'\nuntil=['{line}']\n[parameters.v]\ntype='string'\n")
    argv = ["run", "g.toml", "--trust", "--set", "v=touch pwned", "--headless", "--model", "fake"]
    ran = home.run(*argv, "--api-base", "http://127.0.0.1:9", cwd=tmp_path)
    assert ran.exit_code == 2 and "until: {set:v}: " in ran.stderr and len(ran.stderr.splitlines()) == 1, ran
    assert not (tmp_path / "pwned").exists() and not home.journals()


@pytest.mark.parametrize("check", ['sh -c "test -s {file}"', "echo {file} | sh", "flock l -c {file}"])
def test_a_migration_whose_check_would_run_the_name_of_a_file_is_refused(home: Home, tmp_path: Path, check: str):
    (tmp_path / "$(touch pwned).txt").write_text("x\n")
    argv = ["find", "--recipe", "migrate", "--check", check, "--headless", "--model", "fake", "*.txt"]
    ran = home.run(*argv, "--api-base", "http://127.0.0.1:9", cwd=tmp_path)
    assert ran.exit_code == 2 and "{file}" in ran.stderr and not (tmp_path / "pwned").exists(), ran
