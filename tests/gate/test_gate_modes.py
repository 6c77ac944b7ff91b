"""Deny rules, the modes of the gate, and the rule that Always offers."""

from __future__ import annotations

import pytest

from rundry.agent.gate.rules import NO_RULES, rule_text
from rundry.agent.protocol import GateMode, ProposalDecided, Rule


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


@pytest.mark.parametrize("how", [{"tool": "start_command"}, {"unsandboxed": True}])
def test_in_effects_a_command_that_writes_to_the_workspace_itself_asks(place, how):
    make = {"mode": GateMode.EFFECTS, "sandbox": "bubblewrap", "layers": True}
    assert place.judge_command("make all", **make).action == "allow"
    verdict = place.judge_command("make all", **make, **how)
    assert verdict.action == "ask" and verdict.why[0].endswith("this one writes to the workspace itself")


def test_a_denied_command_is_not_offered_again_with_what_the_sandbox_refused(place):
    deny = [Rule(verdict="deny", tool="run_command", command="git push")]
    more = {"beyond": "the network", "network": True}
    verdict = place.judge_command("git push", "git", **more)
    assert (verdict.action, verdict.danger, verdict.why) == ("ask", True, ["the sandbox refused: the network"])
    assert place.judge_command("git push", "git", rules=deny, **more).action == "deny"
    assert place.judge_command("git push", "git", mode=GateMode.READ, **more).action == "deny"


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
        assert (verdict.action, verdict.danger, verdict.offer) == ("ask", True, NO_RULES)


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
    assert verdict.offer.rules == [Rule(verdict="allow", tool="run_command", command="pytest -k 'a b'")]
    assert place.judge_command("pytest -k 'a b'", "pytest -k 'a b'").action == "allow"
    assert place.judge_command("pytest -k a", "pytest -k 'a b'").action == "ask"
    assert [rule.command for rule in place.judge_command("pytest && make", "pytest").offer.rules] == ["make"]
    assert [rule.command for rule in place.judge_command("pytest && make").offer.rules] == ["pytest", "make"]
    assert place.judge_command("pytest && make $X").offer == NO_RULES


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


async def test_a_mode_that_needs_no_person_approves_what_waits_as_the_policy(place):
    place.file("a.py", b"one\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"one", b"two"))
    gate.policy.set_mode(GateMode.EDITS, unsandboxed_ok=False)
    assert not task.done(), "the mode alone decides nothing"
    gate.decide_by_mode()
    assert (await task).approved
    (decided,) = place.of(ProposalDecided)
    assert (decided.decision, decided.by) == ("approve", "policy")


async def test_a_mode_that_forbids_changes_rejects_what_waits(place):
    place.file("a.py", b"one\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"one", b"two"))
    gate.policy.set_mode(GateMode.READ, unsandboxed_ok=False)
    gate.decide_by_mode()
    assert not (await task).approved


async def test_what_a_rule_lets_only_a_person_decide_still_waits(place):
    place.file("a.py", b"one\n")
    gate = place.gate(rules=[Rule(verdict="ask", path="a.py")])
    task = await place.begin(gate, place.replacing("a.py", b"one", b"two"))
    gate.policy.set_mode(GateMode.AUTO, unsandboxed_ok=True)
    gate.decide_by_mode()
    assert not task.done() and not place.of(ProposalDecided)
    gate.decide(place.decide("reject"))
    assert not (await task).approved


@pytest.mark.parametrize("mode", [GateMode.EDITS, GateMode.AUTO])
async def test_a_change_that_is_in_conflict_with_the_file_still_waits(place, mode: GateMode):
    path = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"one\n", b"1\n"))
    path.write_bytes(b"mine\ntwo\n")
    gate.policy.set_mode(mode, unsandboxed_ok=True)
    gate.decide_by_mode()
    assert not task.done()
    assert path.read_bytes() == b"mine\ntwo\n"
    gate.cancel_all("the end of the test")
    await task
