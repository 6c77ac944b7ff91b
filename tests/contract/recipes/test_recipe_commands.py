"""`rundry recipes` and `rundry schema`, and recipes by name: where they come from, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fakes.rundry import Home
from jsonschema import Draft202012Validator

from rundry.agent.settings.trust import Trust

SEARCH = """\
description = "Audit a folder."
task = "audit {set:path}"
[parameters.path]
type = "path"
help = "What to audit."
[[lens]]
name = "one"
prompt = "look"
"""
GOAL = """\
kind = "goal"
task = "fix {set:what}"
until = ["test -e {set:what}"]
[parameters.what]
type = "choice"
choices = ["a", "b"]
default = "a"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    (folder / "src").mkdir(parents=True)
    return folder


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name.replace('_', '-')}.toml").write_text(text)
    return folder


def own(home: Home, **texts: str) -> Path:
    return write(home.config_file.parent / "recipes", **texts)


def listed(home: Home, place: Path, *argv: str) -> dict[str, dict[str, object]]:
    found = json.loads(home.run("recipes", "--json", *argv, cwd=place).stdout)
    return {one["name"]: one for one in found["recipes"]}


def test_the_list_has_built_in_recipes_and_your_own_with_their_parameters(home: Home, place: Path):
    own(home, audit=SEARCH, fix_it=GOAL, broken="task = 3\n")
    ran = home.run("recipes", cwd=place)
    assert ran.exit_code == 0, ran
    lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    for wanted in (
        "crawl find built-in Follow every link of a site, without a model.",
        "--check 'ruff check {file}' [GLOB] [--task TEXT] [--parallel N]",
        "audit find yours Audit a folder.",
        "--set path=PATH",
        "fix-it goal yours fix {set:what}",
        "[--set what=a|b]",
    ):
        assert wanted in lines, ran
    assert any(line.startswith("broken - yours") and "line 1: task: write a text" in line for line in lines), ran
    data = listed(home, place)["audit"]
    assert (data["kind"], data["origin"], data["path"]) == ("find", "user", str(own(home) / "audit.toml"))
    assert data["parameters"] == [
        {"name": "path", "type": "path", "example": "PATH", "help": "What to audit.", "default": None, "required": True}
    ]


def test_one_recipe_is_shown_with_its_file_and_how_to_run_it(home: Home, place: Path):
    own(home, audit=SEARCH.replace("look", "look \\u001b[31m"))
    ran = home.run("recipes", "show", "audit", cwd=place)
    assert ran.exit_code == 0, ran
    assert "run it      rundry find audit --set path=PATH" in ran.stdout
    assert "parameters  path (path, required)  What to audit." in ran.stdout
    assert '[[lens]]\nname = "one"' in ran.stdout
    assert "\x1b" not in ran.stdout
    built_in = home.run("recipes", "show", "migrate", cwd=place).stdout
    assert "run it      rundry find migrate --check 'ruff check {file}'" in built_in


def test_a_folder_of_the_config_replaces_the_usual_one(home: Home, place: Path):
    write(home.root / "mine", audit=SEARCH)
    own(home, other=SEARCH)
    home.config_file.write_text('recipes = "~/mine"\n')
    assert {"audit"} == listed(home, place).keys() - {"crawl", "migrate", "research", "review"}


def test_recipes_of_a_project_count_while_their_content_is_trusted(home: Home, place: Path):
    folder = write(place / ".rundry" / "recipes", audit=SEARCH)
    refused = home.run("find", "audit", "--set", "path=src", "--headless", cwd=place)
    assert (refused.exit_code, "not trusted yet" in refused.stderr) == (2, True), refused
    assert "audit" not in listed(home, place)
    assert listed(home, place, "--trust")["audit"]["origin"] == "project"
    assert Trust(env=home.env).trust(place) == [".rundry/recipes/audit.toml"]
    assert listed(home, place)["audit"]["origin"] == "project"
    (folder / "audit.toml").write_text(SEARCH.replace("look", "look away"))
    assert "audit" not in listed(home, place)


def test_your_recipe_comes_before_a_project_s_and_no_file_replaces_a_built_in_one(home: Home, place: Path):
    own(home, audit=SEARCH, crawl=SEARCH)
    write(place / ".rundry" / "recipes", audit=GOAL)
    found = json.loads(home.run("recipes", "--json", "--trust", cwd=place).stdout)
    origins = {one["name"]: one["origin"] for one in found["recipes"]}
    assert (origins["audit"], origins["crawl"]) == ("user", "built-in")
    assert sorted(Path(note.split()[1].rstrip(":")).name for note in found["notes"]) == ["audit.toml", "crawl.toml"]


def test_a_file_of_the_folder_never_replaces_a_recipe_by_its_name(home: Home, place: Path):
    own(home, audit=SEARCH)
    (place / "audit").write_text('task = "evil"\nseed = [{kind = "value", value = "x"}]\nworker.command = ["sh"]\n')
    ran = home.run("find", "audit", "--headless", cwd=place)
    assert "recipes/audit.toml: the parameter path is missing" in ran.stderr, ran


@pytest.mark.parametrize(
    "model", ['[model]\napi_base = "http://127.0.0.1:9/v1"\n', '[model]\nparams = { vertex_project = "x" }\n']
)
def test_a_recipe_of_a_project_must_not_say_where_a_key_goes(home: Home, place: Path, model: str):
    write(place / ".rundry" / "recipes", audit=f"{SEARCH}{model}", fix=f"{GOAL}{model}")
    for argv in (["find", "audit", "--set", "path=src"], ["run", "fix", "--set", "what=a"]):
        ran = home.run(*argv, "--headless", "--trust", cwd=place)
        assert ran.exit_code == 2, ran
        assert re.search(
            r"\.toml: line \d+: \[model\] (api_base is for your own|params: vertex_project)", ran.stderr
        ), ran
    assert not home.journals()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["find", "audit"], ["the parameter path is missing (What to audit)", "--set path=PATH"]),
        (["find", "audit", "--set", "path=nowhere"], ["--set path: nowhere does not exist"]),
        (["find", "audit", "--set", "pth=src"], ["--set pth: unknown parameter: did you mean path?"]),
        (["find", "audit", "--set", "path"], ["--set 'path': write NAME=VALUE"]),
        (["find", "audti", "--set", "path=src"], ["there is no recipe 'audti': did you mean audit?"]),
        (["find", "audit", "path=src"], ["audit takes no arguments, but 'path=src' follows", "with --set path=src"]),
        (["find", "audit", "src"], ["set its parameters with --set NAME=VALUE"]),
        (["find", "audti"], ["there is no recipe 'audti'"]),
        (["find", "fix-it"], ["describes a goal run: use rundry run fix-it"]),
        (["find", "broken"], ["broken.toml: line 1: task: write a text"]),
        (["find", "crawl", "--set", "url=x"], ["crawl is built in"]),
        (["find", "crawl"], ["a crawl needs a start address"]),
        (["run", "fix-it", "--set", "what=c"], ["--set what: 'c' is not possible: write one of a, b"]),
        (["run", "audit", "--set", "path=src"], ["describes a search: use rundry find audit, or add"]),
        (["run", "nope", "--set", "x=1"], ["there is no recipe 'nope'"]),
        (["run", "nope.toml"], ["nope.toml: No such file"]),
        (["run", "fix the tests", "--set", "x=1"], ["--set fills the parameters of a spec file"]),
        (["run", "fix-it", "--score", "true"], ["--score is for --loop improve"]),
        (["recipes", "show"], ["rundry recipes show NAME"]),
        (["recipes", "show", "audti"], ["did you mean audit?"]),
        (["recipes", "show", "broken"], ["broken.toml: line 1"]),
        (["recipes", "hide", "x"], ["recipes hide x: use `rundry recipes`"]),
        (["schema", "chat"], ["'chat' is not possible: write find, goal, config or project"]),
    ],
)
def test_bad_input_is_one_line_with_exit_code_2_and_nothing_is_made(
    home: Home, place: Path, argv: list[str], words: list[str]
):
    own(home, audit=SEARCH, fix_it=GOAL, broken="task = 3\n")
    before = sorted(path.name for path in place.iterdir())
    headless = ["--headless", "--json"] if argv[0] in ("find", "run") else []
    ran = home.run(*argv, *headless, cwd=place)
    assert (ran.exit_code, ran.stdout, len(ran.stderr.strip().splitlines())) == (2, "", 1), ran
    for word in words:
        assert word in ran.stderr, ran
    assert not home.journals()
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.parametrize("kind", ["find", "goal"])
def test_the_schema_is_printed_for_editors(home: Home, place: Path, kind: str):
    ran = home.run("schema", kind, cwd=place)
    schema = json.loads(ran.stdout)
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"rundry {kind}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rundry find aud", ["audit"]),
        ("rundry run fix", ["fix-it"]),
        ("rundry recipes ", ["show"]),
        ("rundry recipes show fi", ["fix-it"]),
        ("rundry find audit --set ", ["path="]),
        ("rundry run fix-it --set ", ["what=a", "what=b"]),
        ("rundry run src/other.toml --set f", ["file="]),
        ("rundry schema ", ["find", "goal", "config", "project"]),
    ],
)
def test_a_shell_completes_recipes_and_parameters(home: Home, place: Path, line: str, words: list[str]):
    own(home, audit=SEARCH, fix_it=GOAL)
    write(place / "src", other="kind = 'goal'\ntask = '{set:file}'\nparameters.file.type = 'path'\n")
    ran = home.run(cwd=place, env={"_RUNDRY_COMPLETE": "bash_complete", "RUNDRY_LINE": line, "RUNDRY_BREAKS": ""})
    assert [row.split("\t")[1] for row in ran.stdout.splitlines()] == words, ran
