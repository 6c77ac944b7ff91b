"""Places where a value would be run: they are refused, whatever the program, and places of data are not."""

from __future__ import annotations

import pytest
from sampling import sampled

from rundry.agent.protocol import UserError
from rundry.agent.shell.value_places import Value, filled_line, require_data_line, require_data_words

RUNS_A_TEXT = [
    "echo {set:v} | sh",
    "printf %s {set:v} | bash -s",
    "./args {set:v} | sh",
    "{ ./args {set:v}; } | sh",
    "(echo a; echo {set:v}) | sh",
    "echo {set:v} | tee x | sh",
    "echo {set:v} | xargs",
    "echo {set:v} | xargs -n1 sh -c",
    "echo {set:v} | python3",
    "echo {set:v} | python3 -",
    "echo {set:v} | node",
    "echo {set:v} | sqlite3 x",
    "flock /tmp/l -c {set:v}",
    "flock /tmp/l {set:v}",
    "git -c {set:v} status",
    "git -c core.pager={set:v} log",
    "git -C . -c {set:v} log",
    "test -v {set:v}",
    "[ -v {set:v} ]",
    "test a = b -o -v {set:v}",
    "printf -v {set:v} x",
    "gdb -ex {set:v} ./a",
    "gdb -batch -ex {set:v}",
    "sqlite3 x {set:v}",
    "sqlite3 {set:v}",
    "psql -c {set:v}",
    "vim -c {set:v}",
    "ex -c {set:v}",
    "watch {set:v}",
    "script -c {set:v}",
    "su -c {set:v}",
    "nohup sh -c {set:v}",
    "timeout 5 sh -c {set:v}",
    "timeout 5 {set:v}",
    "timeout -k 5 5 {set:v}",
    "env {set:v}",
    "env X=1 {set:v}",
    "env -S {set:v}",
    "nice {set:v}",
    "xargs sh -c {set:v}",
    "find . -exec {set:v} \\;",
    "find . -name {set:v} -exec sh {} \\;",
    "find . {set:v}",
    "docker run x sh -c {set:v}",
    "perl -e {set:v}",
    "perl -ne {set:v} f",
    "ruby -e {set:v}",
    "node -e {set:v}",
    "node --eval {set:v}",
    "node -p {set:v}",
    "php -r {set:v}",
    "lua -e {set:v}",
    "python3 -m timeit {set:v}",
    "python3 -m pdb -c {set:v} x.py",
    "python3 -m {set:v}",
    "python3 {set:v}",
    "awk {set:v} f",
    "gawk -f a {set:v}",
    "sed -e {set:v} f",
    "jq {set:v} f",
    "m4 -D {set:v}",
    "bc -e {set:v}",
    "expect -c {set:v}",
    "tclsh {set:v}",
    "emacs --eval {set:v}",
    "tar --to-command={set:v} -xf a",
    "tar -I {set:v} -xf a",
    "rsync -e {set:v} a b",
    "ssh -o ProxyCommand={set:v} h",
    "scp -S {set:v} a b",
    "GIT_SSH_COMMAND={set:v} git fetch",
    "X={set:v} ./args",
    "PATH={set:v}; ls",
    "LD_PRELOAD={set:v}; export LD_PRELOAD; ls",
    "x={set:v}; eval $x",
    "x={set:v}; $x",
    'x={set:v}; sh -c "$x"',
    'x={set:v}; echo "$x" | sh',
    'x={set:v}; flock l -c "$x"',
    'for f in {set:v}; do sh -c "$f"; done',
    "for f in {set:v}; do $f; done",
    "$(echo {set:v})",
    'sh -c "$(echo {set:v})"',
    "sh -c $(echo {set:v})",
    'eval "$x" {set:v}',
    "sh <(echo {set:v})",
    ". {set:v}",
    "source {set:v}",
    "{set:v}",
    "{set:v} x",
    "bash {set:v}",
    "pytest -p {set:v}",
    "pytest -o {set:v}",
    "ruff --config {set:v}",
    "cargo test {set:v}",
    "npm run {set:v}",
    "npx {set:v}",
    "go run {set:v}",
    "unknown-tool {set:v}",
    "make {set:v}",
    "make -C {set:v}",
    "make SHELL={set:v}",
    "make check VAR=1 {set:v}",
    "case {set:v} in x) ;; esac",
    "export X={set:v}",
    "declare X={set:v}",
    "./args x > {set:v}",
    "cat < {set:v}",
    "ssh {set:v}",
    "trap {set:v} EXIT",
    "alias x={set:v}",
    "entr {set:v}",
    "sort --compress-program={set:v}",
    "git log --output={set:v}",
    "git grep -O{set:v} x",
    "rg --pre={set:v} x",
    "ls | ./x.py sh -c {set:v}",
    "chpst -u x sh -c {set:v}",
    "weird -- sh -c {set:v}",
    "coproc {set:v}",
    "[[ -v {set:v} ]]",
    "((a={set:v}))",
    "uv run {set:v}",
    "printf %s {set:v} > x.sh; sh x.sh",
    "printf %s {set:v} > x.sh; ./r x.sh",
    "uv run python -c {set:v}",
    "poetry run sh -c {set:v}",
    "hyperfine {set:v}",
]
HAS_A_TEXT = [
    "./args {set:v}",
    "./args a{set:v}b",
    "grep -q {set:v} f",
    "grep -qx -e import\\ {set:v} f",
    "! grep -qx -e import\\ {set:v} f.py",
    "git grep -e {set:v}",
    "git log -- {set:v}",
    "rg -n {set:v} src",
    "echo {set:v} | cat",
    "echo {set:v} | ./args",
    "echo {set:v} | grep x",
    "echo {set:v} | python3 read.py",
    "test -f {set:v}",
    "[ -f {set:v} ]",
    "[ {set:v} = x ] && ./args",
    "sh -c 'flock l \"$1\"' _ {set:v}",
    "bash -c 'x \"$1\"' _ {set:v}",
    "python3 check.py {set:v}",
    "python3 -m pytest {set:v}",
    "python3 -m unittest discover -q {set:v}",
    "pytest -q {set:v}",
    "ruff check {set:v}",
    'x={set:v}; ./args "$x"',
    'x={set:v}; test -f "$x"',
    'for f in {set:v}; do ./args "$f"; done',
    "node check.js {set:v}",
    "perl -e 'print @ARGV' {set:v}",
    "timeout 5 ./args {set:v}",
    "env A=1 ./args {set:v}",
    "uv run ./args {set:v}",
    "make all && ./args {set:v}",
    "make all | tail -3; grep {set:v} f",
    "LC_ALL=C grep {set:v} f",
    "cat $HOME/x | sh; grep {set:v} f",
    "true | sh; ./args {set:v}",
]
HAS_A_PATH = [
    "python3 -m unittest discover -q -s {set:v}",
    "cargo test {set:v}",
    "flake8 {set:v}",
    "mypy --strict {set:v}",
    "python3 {set:v}",
    "bash -n {set:v}",
    "sh {set:v}",
    "node --check {set:v}",
    "awk 'length > 100' {set:v}",
    "sed -n 1p {set:v}",
    "cat {set:v} | wc -l",
    "wc -l < {set:v}",
    "xmllint --noout {set:v}",
    "cat {set:v} | jq .",
    "timeout 5 prog {set:v}",
    "clang -fsyntax-only {set:v}",
    "git diff --exit-code {set:v}",
    "git -C {set:v} status",
]
RUNS_A_PATH = [
    "sh -c {set:v}",
    "eval {set:v}",
    "make F={set:v}",
    "cat {set:v} | sh",
    "flock l -c {set:v}",
    "gdb -ex {set:v}",
    "sqlite3 x {set:v}",
    "test -v {set:v}",
    "{set:v}",
    "python3 -c {set:v}",
    "watch {set:v}",
    "find . -exec sh -c {set:v} \\;",
    "timeout 5 sh -c {set:v}",
]
RUNS_A_FILE_NAME = [
    'sh -c "ruff check {set:v}"',
    "bash -c 'ruff {set:v}'",
    'bash -lc "cd x && ruff {set:v}"',
    "python3 -c \"open('{set:v}')\"",
    'eval "ruff {set:v}"',
    "ssh host ruff {set:v}",
    "xargs sh -c 'x {set:v}'",
]
HAS_A_FILE_NAME = ['ruff check "{set:v}"', "test -f '{set:v}'", "sh -c 'any-tool \"$1\"' _ {set:v}"]


def filled(line: str, value: Value) -> str:
    parts: list[str | Value] = []
    for number, text in enumerate(line.split("{set:v}")):
        parts += [value, text] if number else [text]
    return filled_line(parts)


@pytest.mark.parametrize("line", sampled(RUNS_A_TEXT, 40))
def test_a_text_is_refused_where_a_program_could_run_it(line: str):
    with pytest.raises(UserError):
        filled(line, Value("x"))


@pytest.mark.parametrize("text", ["x", "$(touch x)", "; x", "a\nb", "' x \\"])
def test_a_text_is_filled_in_where_it_is_data(text: str):
    assert [line for line in HAS_A_TEXT if "rundryvalue" in filled(line, Value(text))] == []


def test_the_name_of_a_file_can_be_an_argument_of_any_program_but_not_its_text():
    for line in HAS_A_PATH:
        filled(line, Value("a/b.py", is_text=False))
        require_data_line(line.replace("{set:v}", "{file}"), "{file}")
    for line in HAS_A_FILE_NAME:
        require_data_line(line.replace("{set:v}", "{file}"), "{file}")
    for line in RUNS_A_PATH:
        with pytest.raises(UserError):
            filled(line, Value("a/b.py", is_text=False))
    for line in [*RUNS_A_PATH, *RUNS_A_FILE_NAME]:
        with pytest.raises(UserError):
            require_data_line(line.replace("{set:v}", "{file}"), "{file}")


@pytest.mark.parametrize("text", ["--compress-program=./x", "-o./x"])
def test_a_text_that_is_an_option_is_refused_where_the_program_would_take_it_for_one(text: str):
    for line in ("sort {set:v} f", "git log {set:v}", "pytest {set:v}"):
        with pytest.raises(UserError):
            filled(line, Value(text))
    assert filled("./args {set:v}", Value(text)) == f"./args {text}"


@pytest.mark.parametrize(
    "words", [["flock", "l", "-c"], ["gdb", "-ex"], ["git", "-c"], ["any-tool"], ["sqlite3", "x"], ["env"], ["sh"]]
)
def test_a_text_in_a_list_of_arguments_is_refused_where_the_program_could_run_it(words: list[str]):
    with pytest.raises(UserError):
        require_data_words([*([word] for word in words), [Value("x")]])
    require_data_words([["./worker"], [Value("$(x)")]])


def test_the_message_shows_how_a_text_is_passed_apart():
    with pytest.raises(UserError, match=r"sh -c 'PROGRAM \"\$1\"' _ VALUE"):
        filled("any-tool {set:v}", Value("x"))
    assert filled("sh -c 'any-tool \"$1\"' _ {set:v}", Value("$(x)")).endswith(" _ '$(x)'")
