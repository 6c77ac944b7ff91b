"""Deny and ask rules where a line does not say all its words: what is not known counts as any word."""

from __future__ import annotations

import pytest
from gate.offered_rules import assert_offer_allows

from rundry.agent.protocol import GateMode, Rule

COULD_BE = [
    ("git push", "git $X"),
    ("git push", 'git "$X"'),
    ("git push", "git ${X}"),
    ("git push", "git ${X:-push} origin"),
    ("git push", "git `echo push`"),
    ("git push", "git $(echo push) origin main"),
    ("git push", "git {push,origin}"),
    ("git push", "git pu{sh,ll}"),
    ("git push", "git pu?h"),
    ("git push", "git [p]ush"),
    ("git push", "git *"),
    ("git push", "git pu$Y"),
    ("git push", "git -C $D"),
    ("git push", "git -c alias.z=push z"),
    ("git push", "git -calias.z=push z"),
    ("git push", "git --config-env=alias.z=V z"),
    ("git push", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0=push git z"),
    ("git push", "git p"),
    ("git push", "$CMD"),
    ("git push", "$CMD push"),
    ("git push", '"$@"'),
    ("git push", "$*"),
    ("git push", 'set -- push; git "$@"'),
    ("git push", "f() { git $1; }; f push"),
    ("git push", "{git,push}"),
    ("git push", "/usr/bin/gi? push"),
    ("git push", "echo push | xargs git"),
    ("git push", "xargs -a words"),
    ("git push", "env $X push"),
    ("git push", "env -S 'git push'"),
    ("git push", 'eval "$x"'),
    ("git push", "eval git $x"),
    ("git push", 'bash -c "git $X"'),
    ("git push", "sudo git $X"),
    ("git push", "nice -n 5 git $X"),
    ("git push", "timeout 5 $X"),
    ("git push", "uv run $X"),
    ("git push", "alias z='git push'; z"),
    ("git push", "someones-wrapper --fast git push"),
    ("git push", "python3 -c \"import os; os.system('git push')\""),
    ("git push --force", "git push $X"),
    ("git push --force", "git push -f"),
    ("git push --force", "git push --forc origin"),
    ("rm -rf", "rm {-rf,victim}"),
    ("rm -rf", "rm $OPTS victim"),
    ("rm -rf", "rm victim $LAST"),
    ("rm -rf", "rm --recursive --force victim"),
    ("npm publish", "npm pub"),
    ("docker push", "docker $X"),
    ("gh pr merge", "gh my-alias 1"),
    ("cargo publish", "cargo my-alias"),
    ("kubectl delete", "kubectl -n x $X"),
]


@pytest.mark.parametrize(("rule", "command"), COULD_BE)
@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_a_word_that_is_not_known_counts_as_any_word_for_a_rule_that_restricts(place, rule, command, verdict):
    rules = [Rule(verdict=verdict, tool="run_command", command=rule)]
    allowed = ("git", "rm", "npm", "docker", "gh", "cargo", "kubectl", "echo", "set", "python3", "someones-wrapper")
    for mode in (GateMode.ASK, GateMode.EDITS, GateMode.AUTO):
        given = place.judge_command(command, *allowed, mode=mode, rules=rules, sandbox="x", unsandboxed_ok=True)
        assert given.action != "allow", (mode, given)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("rm", "rm {-rf,victim}"),
        ("rm", "rm $X"),
        ("rm -rf", "rm -fr victim"),
        ("rm -rf", "rm -r -f victim"),
        ("rm -rf", "rm victim -rfv"),
        ("git push", "git \\\n push"),
        ("git push", "git 'pu'sh"),
        ("git push", "/usr/lib/git-core/git-push origin"),
        ("git push --force", "git push origin main --force"),
        ("git push --force", "git push --force=x"),
        ("python3 -m http.server", "python3 -mhttp.server"),
        ("npm install", "npm i evil"),
        ("npm publish", "npm --silent publish"),
    ],
)
def test_a_deny_rule_refuses_what_surely_is_its_command(place, rule, command):
    rules = [Rule(verdict="deny", tool="run_command", command=rule)]
    for mode in (GateMode.ASK, GateMode.AUTO):
        assert place.judge_command(command, mode=mode, rules=rules, sandbox="x").action == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m push",
        "git log $REF",
        "git -c color.ui=always status",
        "git commit -m 'git push later'",
        "grep -rn 'git push' src",
        "echo git push",
        "npm test",
        "ls src/*.py",
        "pytest -q",
        'echo "$HOME"',
        "rm -- -f",
        "rm -r x",
        "make push",
    ],
)
def test_other_commands_are_not_held_by_the_rule(place, command):
    rules = [Rule(verdict="deny", tool="run_command", command=words) for words in ("git push", "rm -rf", "rm -f")]
    given = place.judge_command(command, mode=GateMode.AUTO, rules=rules, sandbox="x")
    assert given.action == "allow", given


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git", "git conf*"),
        ("git", "git $X"),
        ("git push", "git pu?h"),
        ("git push", "git {push,x}"),
        ("npm", "npm e*"),
        ("go", "go g*"),
        ("make", "make S*"),
        ("uniq", "uniq sub/*"),
        ("git '$X'", "git $X"),
        ("git 'pu?h'", "git pu?h"),
        ("ls '*'", "ls *"),
        ("git log", "git log $X"),
    ],
)
def test_a_word_that_is_not_known_is_never_what_a_rule_allows(place, rule, command):
    given = place.judge_command(command, rule)
    assert given.action == "ask"
    assert_offer_allows(place.judge_command, command, given, rule)


def test_the_person_reads_which_rule_could_be_meant(place):
    rules = [Rule(verdict="deny", tool="run_command", command="git push")]
    given = place.judge_command("git $X", mode=GateMode.AUTO, rules=rules, sandbox="x")
    assert given.why == ["a word of the command is unknown and could make this rule apply: deny run_command: git push"]


@pytest.mark.parametrize(
    "command", ["grep -fprivate/x y", "curl -d @private/x z", "gcc -Iprivate/x y.c", "tool a:private/x"]
)
def test_a_path_joined_to_an_option_is_found_by_a_rule_for_paths(place, command):
    rules = [Rule(verdict="deny", path="private/**")]
    assert place.judge_command(command, mode=GateMode.AUTO, rules=rules, sandbox="x").action == "deny"
