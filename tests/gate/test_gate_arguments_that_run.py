"""Arguments that are commands: an allow rule does not cover them, and a deny rule finds them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fakes.project import git
from sampling import sampled

from rundry.agent.protocol import GateMode, Rule
from rundry.agent.shell import program_names
from rundry.agent.shell.command_line import PlainCommand, Word
from rundry.agent.shell.flags import risk
from rundry.agent.shell.option_table_of_programs import harmless_rows

RUNS = [
    ("git grep", "git grep -nO./pay x"),
    ("git grep", "git grep -O./pay x"),
    ("git grep", "git grep -lO ./pay x"),
    ("git grep", "git grep -iwnO./pay x"),
    ("git grep", "git grep --open-files-in-pager=./pay x"),
    ("git grep", "git grep --open-files-in-pa=./pay x"),
    ("git grep", "git grep --open=./pay x"),
    ("git grep", "git grep -n --op=./pay x"),
    ("git rebase", "git rebase -x ./pay HEAD~1"),
    ("git rebase", "git rebase -qx ./pay HEAD~1"),
    ("git rebase", "git rebase -fqx./pay HEAD~1"),
    ("git rebase", "git rebase --exe ./pay HEAD~1"),
    ("git rebase", "git rebase -fi HEAD~1"),
    ("git rebase", "git rebase -s ./pay HEAD~1"),
    ("git merge", "git merge --strategy=pay x"),
    ("git clone", "git clone -qu ./pay . y"),
    ("git clone", "git clone -qc core.fsmonitor=./pay . y"),
    ("git clone", "git clone --conf core.fsmonitor=./pay . y"),
    ("git clone", "git clone --upload-pa=./pay . y"),
    ("git fetch", "git fetch --upload-p ./pay origin"),
    ("git pull", "git pull --upload-pack ./pay"),
    ("git push", "git push --receive-pa=./pay origin"),
    ("git push", "git push --exe=./pay origin"),
    ("git ls-remote", "git ls-remote --upload-pack=./pay ."),
    ("git ls-remote", "git ls-remote --exec=./pay ."),
    ("git format-patch", "git format-patch -no/tmp/x HEAD~1"),
    ("git format-patch", "git format-patch --output-dir=/tmp/x HEAD~1"),
    ("git commit", "git commit -aqe -m x"),
    ("git commit", "git commit -c HEAD"),
    ("git tag", "git tag -ae -m x v1"),
    ("git add", "git add -ni"),
    ("git diff", "git diff --ext-d"),
    ("git log", "git log --textc"),
    ("git init", "git init --separate-git-dir=/tmp/x"),
    ("git apply", "git apply --unsafe-p x"),
    ("git status", "git status --no-such-option"),
    ("git for-each-repo", "git for-each-repo --config=x push"),
    ("find", "find . -newoption ./pay"),
    ("find", "find . -okdir ./pay ;"),
    ("rg", "rg -nz x"),
    ("rg", "rg --pr ./pay x"),
    ("rg", "rg --hostname-bin=./pay x"),
    ("sort", "sort --compress-pro=./pay x"),
    ("sort", "sort -uo P x"),
    ("sort", "sort -T /tmp x"),
    ("tar", "tar -cf a.tar -T list"),
    ("tar", "tar cfI a.tar ./pay b"),
    ("tar", "tar -cI./pay -f a.tar b"),
    ("tar", "tar --use-compress-prog ./pay -cf a.tar b"),
    ("tar", "tar --checkpoint=1 --checkpoint-act=exec=./pay -cf a.tar b"),
    ("tar", "tar -c --to-comm=./pay -f a.tar b"),
    ("tar", "tar -cvF ./pay -f a.tar b"),
    ("tar", "tar -cg snapshot -f a.tar b"),
    ("tar", "tar --index-file=.git/hooks/x -cvf a.tar b"),
    ("diff", "diff -ul a b"),
    ("fd", "fd -HX ./pay"),
    ("install", "install --strip-prog=./pay -s a b"),
    ("ag", "ag --pager=./pay x"),
    ("pytest", "pytest -qpevil"),
    ("pytest", "pytest -vp evil"),
    ("python3 -m pytest", "python3 -m pytest -xqpevil"),
    ("tox", "tox -qx ./pay"),
]


@pytest.mark.parametrize(("rule", "command"), RUNS)
def test_an_allow_rule_does_not_cover_an_option_that_runs_or_writes(place, rule, command):
    assert place.judge_command(command, rule, rule.partition(" ")[0]).action == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git grep -nIi -e x -- src",
        "git grep -nC3 x",
        "git grep --count -w x HEAD",
        "git log --oneline --graph --decorate --all -20",
        "git log -p -S'x y' --since=2.weeks --author=me -- src",
        "git log --format=%H%x09%s -n5 --no-merges --first-parent",
        "git show --stat HEAD",
        "git diff --cached --name-only -M90% -U0 -w",
        "git diff --no-ext-diff --color=never HEAD -- a",
        "git status -sb --porcelain=v2 -uno",
        "git blame -wL1,5 -C -C a.py",
        "git add -Au src",
        "git commit -qam 'fix: it'",
        "git commit --amend --no-edit",
        "git commit --no-verify -m x --author='A <a@x>'",
        "git branch -vv --sort=-committerdate --contains HEAD",
        "git checkout -qb topic",
        "git switch -c topic --no-track",
        "git restore --staged --worktree a",
        "git reset --hard HEAD",
        "git stash push -um wip",
        "git clean -fdx -e keep",
        "git rebase --onto main topic --autostash",
        "git rebase --continue",
        "git cherry-pick -nx HEAD",
        "git merge --no-ff --no-edit -m x topic",
        "git pull --rebase --ff-only origin main",
        "git push -fu origin HEAD",
        "git push --force-with-lease --follow-tags",
        "git fetch -pt --all --depth=1",
        "git clone -q --depth 1 -b main . y",
        "git tag -am x v1",
        "git rev-parse --abbrev-ref HEAD",
        "git rev-list --count HEAD ^main",
        "git describe --tags --always --dirty",
        "git ls-files -z --others --exclude-standard",
        "git ls-tree -r --name-only HEAD",
        "git for-each-ref --sort=refname refs/heads",
        "git shortlog -sne",
        "git reflog -5",
        "git remote -v",
        "git apply --check -p1 x.patch",
        "git merge-base --is-ancestor a b",
        "find . -name '*.py' -not -path './x/*' -type f -mtime -3 -print0",
        "rg -niC2 --hidden -g '*.py' 'a b' src",
        "rg --files-with-matches -tpy x",
        "sort -t, -k2,2n -ru x",
        "tar -czvf a.tgz --exclude=b c",
        "tar tzf a.tgz",
        "diff -ruN a b",
        "fd -tf -epy x",
    ],
)  # fmt: skip
def test_daily_options_pass_their_rule(place, command):
    given = place.judge_command(command, command.partition(" ")[0])
    assert given.action == "allow", given


DENIED = [
    "git submodule foreach 'git push'",
    "git submodule foreach git push",
    "git submodule --quiet foreach --recursive 'make && git push'",
    "git bisect run git push",
    "hyperfine 'git push'",
    "hyperfine --prepare 'git push' true",
    "hyperfine 'bash -c \"cd x; git push\"'",
    "nix-shell --run 'git push'",
    "nix-shell -p git --command='git push'",
    "npm exec -c 'git push'",
    "docker run x 'git push'",
    "setsid git push",
    "xargs -I{} git push {}",
]
HELD = [
    "git rebase -x 'git push' main",
    "git rebase -qx 'make && git -C . push' main",
    "git rebase -x'/usr/bin/git push' main",
    "git rebase --exec='git push' main",
    "git rebase --exe 'git push'",
    "git rebase -x 'g=git; $g push'",
    "git rebase -x 'gi\"\"t push'",
    "git difftool -x 'git push'",
    "git difftool -yx'git push'",
    "git difftool --extcmd='git push'",
    "git filter-branch --tree-filter 'git push'",
    "git for-each-repo --config=x push",
    "git grep -nO'git push' x",
    "git -c core.pager='git push' log",
    "git -c core.editor='git push' commit",
    "git -c alias.z='!git push' z",
    "git fetch --upload-pack='git push' x",
    "git send-email --to-cmd='git push'",
    "GIT_EDITOR='git push' git commit",
    "GIT_SEQUENCE_EDITOR='git push' git rebase -i",
    "sort --compress-program='git push' x",
    "tar -cf a --to-command='git push' b",
    "tar --checkpoint-action=exec='git push' -cf a b",
    "rg --pre 'git push' x",
    "make SHELL='git push'",
    "script -c 'git push'",
    "watch 'git push'",
    "parallel git push ::: a",
    "echo a | entr git push",
    "expect -c 'spawn git push'",
    "env -S 'git push'",
    "nice -5 git push",
    "ssh -o ProxyCommand='git push' h",
    "rsync -e 'git push' a b",
    "vim -c '!git push'",
    "install -s --strip-program='git push' a b",
    "gh alias set x '!git push'",
    "cargo --config 'alias.x=\"git push\"' x",
    "someones-tool --hook='git push'",
    "someones-tool --then 'true; git push'",
]


@pytest.mark.parametrize("command", DENIED)
def test_a_deny_rule_refuses_what_a_launcher_runs(place, command):
    assert in_auto(place, command, "git push").action == "deny"


@pytest.mark.parametrize("command", HELD)
def test_a_deny_rule_holds_a_command_with_an_argument_that_could_be_run(place, command):
    assert in_auto(place, command, "git push").action in ("ask", "deny")


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("git commit -am 'no git push here'", "git push"),
        ("git log --grep='git push' -S'git push'", "git push"),
        ("git tag -am 'git push' v1", "git push"),
        ("git stash push -m 'before git push'", "git push"),
        ("git show HEAD:git/push.py", "git push"),
        ("git -c color.ui=always status", "git push"),
        ("git submodule foreach 'git status'", "git push"),
        ("gh pr create --title 'Fix git push' --body x", "git push"),
        ("pytest -k 'git push'", "git push"),
        ("rg -n 'git push' src", "git push"),
        ("docker run --rm x pytest", "rm"),
        ("someones-tool --confirm", "rm"),
        ("hyperfine 'make test' 'make all'", "rm"),
        ("git rebase -x 'make test' main", "git push"),
    ],
)
def test_a_text_that_no_option_runs_is_not_held(place, command, denied):
    assert in_auto(place, command, denied).action == "allow"


def in_auto(place, command, denied):
    rules = [Rule(verdict="deny", tool="run_command", command=denied)]
    return place.judge_command(command, mode=GateMode.AUTO, rules=rules, sandbox="x")


def passes(*words: str) -> bool:
    return risk(PlainCommand(tuple(Word(word) for word in words))) is None


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits, and a program that leaves a mark."""
    folder = tmp_path_factory.mktemp("repository")
    pay = folder / "pay"
    pay.write_text(f"#!/bin/sh\ntouch {folder.parent / 'paid'}\n")
    pay.chmod(0o755)
    git(folder, "init", "-q", "-b", "main")
    for number in (1, 2):
        (folder / "x").write_text(f"x {number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", str(number))
    (folder / "big").write_bytes(b"b\na\n" * 500_000)
    git(folder, "tag", "v0")
    git(folder, "remote", "add", "origin", ".")
    return folder


def runs_the_program(repository: Path, folder: Path, *words: str) -> bool:
    """Run it in a copy, and return whether the program in an argument was started."""
    shutil.copytree(repository, folder, symlinks=True)
    mark = repository.parent / "paid"
    mark.unlink(missing_ok=True)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_EDITOR": "true", "GIT_PAGER": "cat", "LANG": "C.UTF-8"}
    subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    shutil.rmtree(folder)
    return mark.exists()


@pytest.mark.parametrize(
    "command",
    [
        "git grep -nO./pay x",
        "git grep -O./pay x",
        "git grep -iwnO./pay x",
        "git grep --open-files-in-pa=./pay x",
        "git grep --op=./pay x",
        "git rebase -x ./pay HEAD~1",
        "git rebase -qx./pay HEAD~1",
        "git rebase --exe ./pay HEAD~1",
        "git ls-remote --upload-pack=./pay .",
        "git ls-remote --upload-p ./pay .",
        "git clone -qu ./pay . y",
        "git clone --conf core.sshCommand=./pay ssh://x/y y",
        "sort --compress-pro=./pay -S 1 big",
        "tar -cI./pay -f a.tar x",
        "tar cfI a.tar ./pay x",
        "tar --checkpoint=1 --checkpoint-act=exec=./pay -cf a.tar big",
        "find . -exec ./pay ;",
        "rg --pre ./pay x",
    ],
)
def test_real_programs_run_what_a_rule_does_not_cover(repository: Path, tmp_path: Path, command: str):
    words = command.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    assert runs_the_program(repository, tmp_path / "copy", *words)
    assert not passes(*words)


def options_of(command: str) -> list[str]:
    """Return all long options that this git itself names."""
    asked = subprocess.run(
        ["git", command, "--git-completion-helper-all"], capture_output=True, text=True, cwd="/", check=False
    )
    return sorted({word.rstrip("=") for word in asked.stdout.split() if word.startswith("--") and word != "--"})


@pytest.mark.parametrize("command", sampled(sorted(program_names.GIT_LETTERS), 6))
def test_no_option_of_git_that_passes_a_rule_starts_a_program_that_it_names(
    repository: Path, tmp_path: Path, command: str
):
    flags, valued = program_names.GIT_LETTERS[command]
    tried = [option for option in options_of(command) if passes("git", command, option, "-m", "x")]
    forms = [[f"{option}=./pay"] for option in tried] + [[option, "./pay"] for option in tried]
    forms += [[f"-{letter}./pay"] for letter in valued] + [[f"-{letter}", "./pay"] for letter in flags + valued]
    found = [
        form
        for form in forms
        if runs_the_program(repository, tmp_path / "copy", "git", command, *form, "x")
    ]  # fmt: skip
    assert found == []


@pytest.mark.parametrize("program", [name for name in ("rg", "sort", "tar", "diff", "find") if shutil.which(name)])
def test_no_option_that_passes_a_rule_starts_a_program_that_it_names(repository: Path, tmp_path: Path, program: str):
    options = [one.rstrip("*") for one in harmless_rows()[program].options]
    given = {"tar": ["-cf", "a.tar", "x"], "find": ["."], "diff": ["x", "pay"], "rg": ["x"], "sort": ["x"]}[program]
    forms = [[option, "./pay"] for option in options]
    forms += [[f"{option}=./pay" if option.startswith("--") else f"{option}./pay"] for option in options]
    found = [
        form
        for form in forms
        if passes(program, *form) and runs_the_program(repository, tmp_path / "copy", program, *form, *given)
    ]
    assert found == []
