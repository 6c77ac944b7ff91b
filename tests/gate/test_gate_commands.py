"""docs/attacks.md A.1 to A.9, A.15 to A.17, A.26, A.27 at the policy."""

from __future__ import annotations

import pytest

from rundry.agent.gate.rules import rule_text
from rundry.agent.protocol import GateMode, Rule


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
    assert verdict.rule is None or place.judge_command(command, verdict.rule.command).action == "allow"


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


def test_a_deny_rule_wins_wherever_the_command_stands(place):
    deny = [Rule(verdict="deny", tool="run_command", command="git push")]
    for command in (
        "git push",
        "/usr/bin/git push --force",
        "git -C x push",
        "ls && git push",
        "echo $(git push)",
        "timeout 3 git push",
        "sudo git push",
        "bash -c 'git push'",
        "find . -exec git push ';'",
        "ls | xargs git push",
        "if true; then git push; fi",
        "cat <<E\n$(git push)\nE",
    ):
        for mode in GateMode:
            assert place.judge_command(command, "git", mode=mode, rules=deny, sandbox="x").action == "deny", command
    assert place.judge_command("git commit -m push", "git", rules=deny).action == "allow"


def test_a_deny_rule_for_a_path_holds_for_commands_and_through_links(place):
    place.file("private/x", b"")
    (place.ws.root / "l").symlink_to("private")
    deny = [Rule(verdict="deny", path="private/**")]
    assert place.judge_command("cat private/x", "cat", rules=deny).action == "deny"
    assert place.judge_command("cat l/x", "cat", rules=deny).action == "deny"
    assert place.judge_command("cat other/x", "cat", rules=deny).action == "allow"


def test_in_auto_what_cannot_be_read_asks_as_soon_as_a_rule_refuses_something(place):
    deny = [Rule(verdict="deny", tool="run_command", command="rm")]
    assert place.judge_command('x=rm; "$x" a', mode=GateMode.AUTO, sandbox="x", rules=deny).action == "ask"
    assert place.judge_command('x=rm; "$x" a', mode=GateMode.AUTO, sandbox="x").action == "allow"


def test_auto_lets_commands_pass_in_a_sandbox_or_once_the_person_said_unsandboxed(place):
    assert place.judge_command("make all", mode=GateMode.AUTO, sandbox="bubblewrap").action == "allow"
    assert place.judge_command("make all", mode=GateMode.AUTO).action == "ask"
    assert place.judge_command("make all", mode=GateMode.AUTO, unsandboxed_ok=True).action == "allow"
    assert place.judge_command("make all", mode=GateMode.EDITS, sandbox="bubblewrap").action == "ask"


def test_read_mode_refuses_commands_with_the_reason(place):
    verdict = place.judge_command("ls", "ls", mode=GateMode.READ)
    assert verdict.action == "deny"
    assert "`read`" in verdict.why[0]


@pytest.mark.parametrize(
    "command",
    [
        "cd .git && tee hooks/x",
        "tee .git/hooks/x",
        "echo x > .git/config",
        "echo x > .rundry.toml",
        "cp x .envrc",
        "mkdir .vscode",
        "touch .GIT/hooks/x",
        "mv a .github/workflows/ci.yml",
        "tee link/hooks/x",
    ],
)
def test_a_command_that_surely_writes_a_protected_file_asks_in_every_mode(place, command):
    (place.ws.root / ".git").mkdir()
    (place.ws.root / "link").symlink_to(".git")
    for mode in (GateMode.ASK, GateMode.EDITS, GateMode.AUTO):
        verdict = place.judge_command(command, "tee", "echo", "cp", "mv", mode=mode, sandbox="x", unsandboxed_ok=True)
        assert (verdict.action, verdict.danger, verdict.rule) == ("ask", True, None)


@pytest.mark.parametrize("command", ["rm -rf .", "chmod -R 777 .", "rm -rf sub/..", "cd sub && rm -r .."])
def test_what_takes_the_whole_workspace_with_its_repository_asks_in_every_mode(place, command):
    (place.ws.root / "sub").mkdir()
    for mode in (GateMode.ASK, GateMode.AUTO):
        verdict = place.judge_command(command, "rm", "chmod", mode=mode, sandbox="x")
        assert (verdict.action, verdict.danger) == ("ask", True)
    assert place.judge_command("rm -rf sub", "rm").action == "allow"
    assert place.judge_command("rm -rf s*", "rm").action == "ask"


def test_always_offers_a_rule_only_where_the_rule_would_let_the_command_pass(place):
    verdict = place.judge_command("pytest -k 'a b'")
    assert verdict.rule == Rule(verdict="allow", tool="run_command", command="pytest -k 'a b'")
    assert place.judge_command("pytest -k 'a b'", verdict.rule.command).action == "allow"
    assert place.judge_command("pytest -k a", verdict.rule.command).action == "ask"
    assert place.judge_command("pytest && make", "pytest").rule.command == "make"
    assert place.judge_command("pytest && make").rule is None


def test_an_ask_rule_holds_against_an_allow_rule(place):
    asks = [Rule(verdict="ask", tool="run_command", command="npm publish")]
    assert place.judge_command("npm publish --dry-run", "npm", rules=asks).action == "ask"
    assert place.judge_command("npm test", "npm", rules=asks).action == "allow"


def test_a_rule_that_names_more_than_one_command_allows_nothing(place):
    assert place.judge_command("pytest; rm x", "pytest; rm x").action == "ask"
    assert place.judge_command("anything", "").action == "ask"


def test_a_line_nested_without_end_or_very_long_is_a_doubt_and_no_crash(place):
    for command in ("(" * 3000 + "ls" + ")" * 3000, "echo " + "$(" * 900 + "ls" + ")" * 900, "ls " * 50_000):
        assert place.judge_command(command, "ls", "echo").action == "ask"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Rule(verdict="deny", path="secrets/**"), "deny secrets/**"),
        (Rule(verdict="allow", tool="run_command", command="pytest -q"), "allow run_command: pytest -q"),
        (Rule(verdict="ask", tool="write_file"), "ask write_file"),
    ],
)
def test_a_rule_reads_as_one_would_say_it(rule, text):
    assert rule_text(rule) == text


@pytest.mark.parametrize("command", ["ls \u202e foo", "ls a\u200bb", "a\u200bb", "ls \u202efoo*"])
@pytest.mark.parametrize("rules", [None, [Rule(verdict="deny", path="private/**")]])
def test_of_a_line_with_a_sign_that_does_not_show_nothing_is_named_that_it_does_not_say(place, command, rules):
    verdict = place.judge_command(command, "ls", rules=rules)
    assert verdict.action == "ask"
    assert verdict.why[0].startswith("it has an invisible character (U+20")
    assert not any("?" in why or "ERROR" in why for why in verdict.why)


def test_a_long_command_without_a_rule_is_named_by_its_beginning(place):
    long = "echo " + " ".join(f"word{n}" for n in range(60))
    (why,) = place.judge_command(long).why
    assert len(why) < 80
    assert why.startswith("no rule allows `echo word0 word1") and why.endswith("…`")
