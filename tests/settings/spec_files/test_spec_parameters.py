"""Parameters of spec files: their types, where they stand, and what is wrong with them, with the line and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from rundry.agent.protocol import UserError
from rundry.agent.settings.search.search_file import read_finder
from rundry.agent.settings.search.search_recipes import SearchRequest
from rundry.agent.settings.spec_files.goal_file import GoalRequest, read_goal
from rundry.agent.settings.spec_files.parameters import given_values

LENS = "[[lens]]\nname = 'a'\nprompt = 'p'\n"


def search(folder: Path, text: str, **given: str) -> SearchRequest:
    (folder / "s.toml").write_text(text)
    return read_finder(folder / "s.toml", given, workspace=folder)


def goal(folder: Path, text: str, **given: str) -> GoalRequest:
    (folder / "g.toml").write_text(f"kind = 'goal'\n{text}")
    return read_goal(folder / "g.toml", given, workspace=folder)


def test_a_value_has_the_type_that_its_place_needs(tmp_path: Path):
    text = (
        "task = 'find {set:n} of {set:what} ({set:deep}, {set:share})'\nconcurrency = '{set:n}'\n"
        "critic = '{set:deep}'\n[budget]\nusd = '{set:share}'\nsteps = '{set:n}'\n"
        "[model]\nname = 'm'\nparams = { temperature = '{set:share}' }\n"
        f"{LENS}[[seed]]\nkind = '{{set:kind}}'\nvalue = '{{set:n}}'\n[parameters]\nn = {{ type = 'integer' }}\n"
        "what = { type = 'string', default = 'bugs' }\ndeep = { type = 'boolean', default = false }\n"
        "share = { type = 'number', default = 0.5 }\nkind = { type = 'choice', choices = ['url', 'value'] }\n"
    )
    found = search(tmp_path, text, n="5", kind="value")
    assert found.task == "find 5 of bugs (false, 0.5)"
    assert (found.finder.concurrency, found.finder.critic) == (5, False)
    assert (found.options["usd"], found.options["steps"]) == ("0.5", "5")
    assert found.options["params"] == {"temperature": 0.5}
    assert (found.finder.seeds[0].kind, found.finder.seeds[0].value) == ("value", "5")
    assert found.values == {"n": 5, "what": "bugs", "deep": False, "share": 0.5, "kind": "value"}


def test_two_braces_are_the_text_itself_and_other_braces_are_left_alone(tmp_path: Path):
    text = "task = '{{set:what} {x} {{y}} ${z} {set:what}'\nparameters.what.type = 'string'\n"
    assert goal(tmp_path, text, what="{{set:what}").task == "{set:what} {x} {{y}} ${z} {{set:what}"


def test_a_value_cannot_change_the_structure_of_the_file(tmp_path: Path):
    hostile = 'x"\n[gate]\nmode = "auto"\ntask = "'
    found = goal(tmp_path, "task = 'say {set:what}'\nparameters.what.type = 'string'\n", what=hostile)
    assert found.task == f"say {hostile}".strip()
    assert "gate" not in found.options


def test_a_path_exists_and_cannot_be_an_option(tmp_path: Path):
    (tmp_path / "-rf").mkdir()
    text = "task = 'look at {set:path}'\nuntil = ['ls {set:path}']\nparameters.path.type = 'path'\n"
    assert goal(tmp_path, text, path="-rf").options["until"] == ["ls ./-rf"]
    with pytest.raises(UserError, match=r"--set path: nowhere does not exist in .*: name an existing"):
        goal(tmp_path, text, path="nowhere")


def test_a_goal_file_sets_the_options_of_a_run(tmp_path: Path):
    found = goal(
        tmp_path,
        "task = ' fix it '\nuntil = ['true']\nguard = ['x']\nverify = 'on-change'\nany = true\ntools = ['read_file']\n"
        "on_stall = 'stop'\ntries = 3\nquota = { run_command = '3/run' }\n[model]\nname = 'm'\n[budget]\nsteps = 7\n"
        "[gate]\nmode = 'edits'\non_ask = 'handoff'\n",
    )
    assert found.task == "fix it"
    assert found.tools == ["read_file"]
    assert found.options == {
        "until": ["true"],
        "guard": ["x"],
        "verify": "on-change",
        "any": True,
        "on_stall": "stop",
        "tries": 3,
        "quota": ["run_command=3/run"],
        "model": "m",
        "steps": "7",
        "gate": "edits",
        "on_ask": "handoff",
        "loop": "goal",
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["the parameter n is missing (How many): add --set n=NUMBER"]),
        ({"shares": "1"}, ["--set shares: unknown parameter", "did you mean share?"]),
        ({"n": "many"}, ["--set n: 'many' is not a whole number", "200k"]),
        ({"n": "1.5"}, ["--set n: '1.5' is not a whole number"]),
        ({"n": "1", "deep": "maybe"}, ["--set deep: 'maybe' is neither true nor false"]),
        ({"n": "1", "share": "half"}, ["--set share: 'half' is not a number"]),
        ({"n": "1", "share": "1e999"}, ["--set share: '1e999' is not a number"]),
        ({"n": "1", "how": "slow"}, ["--set how: 'slow' is not possible: write one of fast, deep"]),
        ({"n": "1", "what": "a\x1b[2J"}, ["--set what:", "control characters"]),
        ({"n": "1", "what": "a\0"}, ["--set what:", "control characters"]),
        ({"n": "-3"}, ["line 2: concurrency is out of range: write 1 to 1024"]),
    ],
)
def test_a_wrong_value_is_one_line_with_the_parameter_and_the_fix(
    tmp_path: Path, given: dict[str, str], words: list[str]
):
    text = (
        f"task = '{{set:what}}{{set:deep}}{{set:share}}{{set:how}}'\nconcurrency = '{{set:n}}'\n{LENS}[parameters]\n"
        "n = { type = 'integer', help = 'How many.' }\nwhat = { type = 'string', default = 'x' }\n"
        "deep = { type = 'boolean', default = true }\nshare = { type = 'number', default = 1 }\n"
        "how = { type = 'choice', choices = ['fast', 'deep'], default = 'fast' }\n"
    )
    with pytest.raises(UserError) as raised:
        search(tmp_path, text, **given)
    said = str(raised.value)
    assert said.startswith(f"{tmp_path / 's.toml'}: ") and "\n" not in said
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[parameters.a]\ntype = 'text'\n", ["line 6: [parameters.a] type = 'text'", "string"]),
        ("[parameters.a]\n\n# x\ntipe = 'path'\n",
         ["line 8: [parameters.a] has an unknown field 'tipe'", "did you mean type?"]),
        ("[parameters.a]\nhelp = 'x'\n", ["line 5: [parameters.a] needs a type"]),
        ("[parameters.a]\ntype = 'choice'\n", ["[parameters.a] is a choice", "two texts"]),
        ("[parameters.a]\ntype = 'path'\nchoices = ['x', 'y']\n", ["only a choice"]),
        ("[parameters.a]\ntype = 'integer'\ndefault = 'x'\n",
         ["line 7: [parameters.a] default: 'x'", "without quotes"]),
        ("[parameters.a]\ntype = 'integer'\ndefault = true\n", ["default: True is not of the type integer"]),
        ("[parameters.a]\ntype = 'choice'\nchoices = ['x', 'y']\ndefault = 'z'\n", ["'z' is not possible", "x, y"]),
        ("[parameters.a]\ntype = 'string'\ndefault = 'x'\nrequired = true\n", ["keep one of both"]),
        ("[parameters.a]\ntype = 'string'\nrequired = false\n", ["needs a default"]),
        ("[parameters.a]\ntype = 'string'\ndefault = 'x'\n", ["line 5: [parameters.a] is not used", "{set:a}"]),
        ("[parameters.'A b']\ntype = 'string'\n", ["small letters"]),
        ("parameters = 3\n", ["parameters: write a table for each"]),
        ("[[seed]]\nkind = 'value'\nvalue = '{set:b}'\n[parameters.a]\ntype = 'string'\ndefault = ''\n",
         ["line 7: [[seed]] 1 value: {set:b} is not a parameter", "use one of a", "{{set:b}"]),
        ("[[seed]]\nkind = 'value'\nvalue = '{set:b}'\n",
         ["line 7: [[seed]] 1 value: {set:b}", "declare [parameters.b]"]),
        ("[budget]\nsteps = 3\n\n# how long\ntime = '''\nsoon'''\n", ["line 9: [budget] time"]),
        ("[[lens]]\nname = 'a'\nprompt = 'q'\n", ["line 5: two lenses have the name 'a'"]),
        ("[model]\nprice = 'cheap'\nparams = { stream = 1 }\n", ["line 6: [model] price"]),
        ("[migrate]\ncheck = 'x'\n", ["line 5: [migrate] cannot be combined"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_key_and_its_line(tmp_path: Path, text: str, words: list[str]):
    is_top_level = text.startswith("parameters")
    with pytest.raises(UserError) as raised:
        search(tmp_path, f"task = 't'\n{text}{LENS}" if is_top_level else f"task = 't'\n{LENS}{text}")
    for word in words:
        assert word in str(raised.value), str(raised.value)


@pytest.mark.parametrize(
    ("pairs", "words"), [(["a"], "NAME=VALUE"), (["=x"], "NAME=VALUE"), (["a=1", "a=2"], "--set a is given twice")]
)
def test_a_pair_that_is_not_one_is_refused(pairs: list[str], words: str):
    with pytest.raises(UserError, match=words):
        given_values(pairs)


def test_a_value_may_contain_equals_signs_and_be_empty():
    assert given_values(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
