"""Values of parameters in command lines and argument lists: each stays one argument, whatever it contains."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, strategies as st
from sampling import sampled

from rundry.agent.protocol import UserError
from rundry.agent.settings.search.search_file import read_finder
from rundry.agent.settings.spec_files.goal_file import read_goal

HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "' ; touch pwned; '",
    '"; touch pwned; "',
    "a\ntouch pwned\n",
    "&& touch pwned",
    "a[$(touch pwned)]",
    "$HOME",
    "${IFS}",
    "*",
    "~",
    "a  b",
    "",
    "-x",
    "\\",
    "!!",
    "{a,b}",
    "# x",
    "%s\\n",
    "{set:v}",
    "X=1",
    "<&-",
]
PLACES = [
    ("./args {set:v}", "{}"),
    ("./args a{set:v}b", "a{}b"),
    ("./args {set:v}{set:v}", "{}{}"),
    ("true && ./args {set:v} | cat", "{}"),
    ('X={set:v}; ./args "$X"', "{}"),
    ("(./args {set:v})", "{}"),
    ('for f in {set:v}; do ./args "$f"; done', "{}"),
    ("./args 'it'\"s\" {set:v}", "its|{}"),
    ("if true; then ./args {set:v}; fi", "{}"),
    ("! ./args {set:v} >&2; ./args {set:v}", "{}"),
    ("./args {set:v} # what ' it is", "{}"),
    ("# don't\n./args {set:v}", "{}"),
    ("bash -c './args \"$1\"' _ {set:v}", "{}"),
    ("./args \\\n {set:v}", "{}"),
    ("./args $(./args a) {set:v}", "a|{}"),
]
REFUSED = [
    "./args '{set:v}'",
    './args "{set:v}"',
    "./args `./args {set:v}`",
    "cat <<E\n{set:v}\nE",
    "true # {set:v}",
    "sh -c {set:v}",
    "/bin/bash -lc {set:v}",
    "bash -c -o pipefail {set:v}",
    "bash -o pipefail -c {set:v}",
    "bash -c{set:v}",
    "python3 -c {set:v}",
    "find . -exec sh -c {set:v} \\;",
    "xargs env -S {set:v}",
    "eval {set:v}",
    "if let {set:v}; then true; fi",
    "export {set:v}",
    "eval $(true) {set:v}",
    "[[ {set:v} -eq 1 ]]",
    "echo $(( {set:v} ))",
    "echo $'{set:v}'",
    "echo ${set:v}",
    "echo $ {set:v} $$$[1+{set:v}]",
    "a[{set:v}]=1",
    "sed {set:v} file",
    "make T={set:v}",
    "ssh host {set:v}",
    'echo "$(echo {set:v})"',
    "echo \\{set:v}",
]


def goal(folder: Path, command: str, value: str) -> str:
    """The command of a file whose parameter `v` has this value."""
    path = folder / "goal.toml"
    path.write_text(f"kind = 'goal'\ntask = 't'\nuntil = ['''{command}''']\nparameters.v.type = 'string'\n")
    found = cast("list[str]", read_goal(path, {"v": value}, workspace=folder).options["until"])
    return found[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "args").write_text('#!/bin/sh\nfor one in "$@"; do printf "%s\\0" "$one"; done\n')
    (tmp_path / "args").chmod(0o755)
    return tmp_path


def printed(line: str, folder: Path, shell: str = "bash") -> list[str]:
    done = subprocess.run([shell, "-c", line], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=20)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(("place", "wanted"), PLACES)
def test_a_hostile_value_is_one_argument_wherever_a_placeholder_can_stand(folder: Path, place: str, wanted: str):
    for value in HOSTILE:
        found = printed(goal(folder, place, value), folder)
        assert found == [value if part == "{}" else part.replace("{}", value) for part in wanted.split("|")]
    assert sorted(path.name for path in folder.iterdir()) == ["args", "goal.toml"]


@given(value=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30))
def test_any_text_is_one_argument(tmp_path_factory: pytest.TempPathFactory, value: str):
    folder = tmp_path_factory.mktemp("any")
    line = goal(folder, "echo() { printf '%s\\0' \"$@\"; }\necho a {set:v}b", value) if "{file}" not in value else ""
    assert not line or printed(line, folder, "sh") == ["a", f"{value}b"]


@pytest.mark.parametrize("place", REFUSED)
def test_a_placeholder_is_refused_where_quotes_do_not_protect(tmp_path: Path, place: str):
    with pytest.raises(UserError, match=r"line 3: until: \{set:v\}: "):
        goal(tmp_path, place, "x")


def worker(folder: Path, words: list[str], value: str) -> list[str]:
    path = folder / "search.toml"
    path.write_text(
        f"task = 't'\nworker.command = {words}\nseed = [{{ kind = 'value', value = 'x' }}]\n"
        "parameters.v.type = 'string'\n"
    )
    found = read_finder(path, {"v": value}, workspace=folder).finder.worker
    assert found is not None
    return found.command


@pytest.mark.parametrize("value", sampled(HOSTILE, 8))
def test_a_value_in_a_list_of_arguments_stays_one_argument_as_it_is(tmp_path: Path, value: str):
    assert worker(tmp_path, ["./w.py", "{set:v}", "a={set:v}"], value) == ["./w.py", value, f"a={value}"]
    assert worker(tmp_path, ["sh", "-c", "exec w", "_", "{set:v}"], value)[-1] == value


@pytest.mark.parametrize(
    "words", [["sh", "-c", "w {set:v}"], ["bash", "-lc", "{set:v}"], ["python3", "-c", "{set:v}"], ["make", "{set:v}"]]
)
def test_a_value_is_refused_in_the_program_of_a_list_of_arguments(tmp_path: Path, words: list[str]):
    with pytest.raises(UserError, match=r"line 2: \[worker\] command: \{set:v\}: .* could run its value"):
        worker(tmp_path, words, "x")


@pytest.mark.parametrize("field", ["{file}", "a{line}b", "{key}", "{title}"])
def test_a_value_with_a_field_that_is_filled_in_later_is_refused(tmp_path: Path, field: str):
    with pytest.raises(UserError, match="filled in later"):
        goal(tmp_path, "./args {set:v}", field)
