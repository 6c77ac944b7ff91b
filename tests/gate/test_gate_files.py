"""The policy for changes of files: modes, rules, and what is asked about in every mode."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from rundry.agent.gate.draft import read_file_state
from rundry.agent.gate.rules import NO_RULES
from rundry.agent.host.file_errors import PathRefused
from rundry.agent.protocol import GateMode, Rule


def test_modes_decide_where_no_rule_speaks(place):
    place.file("a.py", b"old")
    answers = [place.judge_file("a.py", mode=mode).action for mode in GateMode]
    assert dict(zip(GateMode, answers, strict=True)) == {
        GateMode.READ: "deny",
        GateMode.ASK: "ask",
        GateMode.EFFECTS: "ask",
        GateMode.EDITS: "allow",
        GateMode.AUTO: "allow",
        GateMode.STAGE: "allow",
    }


def test_deny_wins_over_ask_and_ask_over_allow(place):
    allow, ask, deny = (Rule(verdict=verdict, path="src/**") for verdict in ("allow", "ask", "deny"))
    for rules, action in (([allow], "allow"), ([allow, ask], "ask"), ([allow, ask, deny], "deny")):
        for order in (rules, rules[::-1]):
            assert place.judge_file("src/a.py", mode=GateMode.ASK, rules=order).action == action
    assert place.judge_file("other/a.py", mode=GateMode.EDITS, rules=[deny]).action == "allow"


def test_a_deny_rule_holds_through_a_link_from_both_sides(place):
    place.file("private/a.txt", b"x")
    (place.ws.root / "open.txt").symlink_to("private/a.txt")
    by_target, by_name = Rule(verdict="deny", path="private/**"), Rule(verdict="deny", path="open.txt")
    for rule in (by_target, by_name):
        assert place.judge_file("open.txt", mode=GateMode.AUTO, rules=[rule]).action == "deny"
    assert place.judge_file("./private/../private/a.txt", rules=[by_target], mode=GateMode.AUTO).action == "deny"


@pytest.mark.parametrize(
    "name",
    [
        ".rundry.toml",
        ".envrc",
        ".bashrc",
        ".vscode/tasks.json",
        ".github/workflows/ci.yml",
        ".husky/pre-commit",
        ".hg/hgrc",
        ".cargo/config.toml",
        "sub/.gdbinit",
        ".Mise.toml",
        "x.code-workspace",
        ".gitignore",
        "sub/AGENTS.md",
        "claude.md",
        ".cursorrules",
        ".github/copilot-instructions.md",
    ],
)
def test_protected_files_ask_in_every_mode_before_they_exist_and_never_offer_always(place, name):
    allow = Rule(verdict="allow", tool="write_file")
    for mode in (GateMode.ASK, GateMode.EDITS, GateMode.AUTO):
        verdict = place.judge_file(name, mode=mode, rules=[allow])
        assert (verdict.action, verdict.danger, verdict.offer) == ("ask", True, NO_RULES)
    assert place.judge_file(name, mode=GateMode.READ).action == "deny"


def test_a_guarded_file_asks_in_every_mode_and_says_why(place):
    for mode in (GateMode.EDITS, GateMode.AUTO):
        verdict = place.judge_file("tests/test_a.py", mode=mode, guard=("tests/**",))
        assert (verdict.action, verdict.danger) == ("ask", True)
        assert "guarded with --guard" in verdict.why[0]


@pytest.mark.parametrize(
    "name", ["../w-evil/x", "/etc/passwd", ".git/hooks/x", ".GIT/config", ".env", "l/passwd", "id_rsa"]
)
def test_paths_outside_and_secrets_never_come_before_the_gate(place, name):
    (place.ws.root.parent / "w-evil").mkdir()
    (place.ws.root / "l").symlink_to("/etc")
    with pytest.raises(PathRefused):
        read_file_state(place.ws, name)


def test_the_rule_of_always_is_for_exactly_this_file(place):
    (rule,) = place.judge_file("a[1]*.py").offer.rules
    assert place.judge_file("a[1]*.py", rules=[rule]).action == "allow"
    assert place.judge_file("a1x.py", rules=[rule]).action == "ask"


def test_an_empty_rule_opens_nothing_and_closes_all(place):
    assert place.judge_file("a.py", rules=[Rule(verdict="allow")]).action == "ask"
    assert place.judge_file("a.py", rules=[Rule(verdict="deny")]).action == "deny"


def _odd_files(place) -> dict[str, str]:
    """Paths of files that are not plain, and what the person has to read about each."""
    place.file("plain.py", b"old")
    outside = place.ws.root.parent / "outside.py"
    outside.write_bytes(b"old")
    os.link(outside, place.ws.root / "shared.py")
    place.file("tools/run", b"#!/bin/sh\n").chmod(0o754)
    place.file("for_others", b"").chmod(0o641)
    place.file("real/a.py", b"old")
    (place.ws.root / "alias.py").symlink_to("real/a.py")
    (place.ws.root / "folder").symlink_to("real")
    (place.ws.root / "dangling.py").symlink_to("nothing_yet.py")
    return {
        "shared.py": "hard link",
        "tools/run": "executable",
        "for_others": "executable",
        "alias.py": "the link alias.py",
        "folder/a.py": "the link folder",
        "folder/new.py": "the link folder",
        "folder/../real/a.py": "the link folder",
        str(place.ws.root / "alias.py"): "the link alias.py",
        "dangling.py": "the link dangling.py",
    }


def test_a_hard_link_an_executable_and_a_file_behind_a_link_ask_in_every_mode_without_always(place):
    for name, said in _odd_files(place).items():
        for mode in (GateMode.ASK, GateMode.EDITS, GateMode.AUTO):
            verdict = place.judge_file(name, mode=mode, rules=[Rule(verdict="allow", tool="write_file")])
            assert (verdict.action, verdict.danger, verdict.offer) == ("ask", True, NO_RULES), name
            assert said in "\n".join(verdict.why), name


def test_a_plain_file_passes_also_where_the_workspace_itself_is_reached_through_a_link(place):
    _odd_files(place)
    alias = place.ws.root.parent / "alias"
    alias.symlink_to(place.ws.root)
    for name in (
        "plain.py",
        "new/deep.py",
        "./real/../plain.py",
        str(place.ws.root / "plain.py"),
        str(alias / "plain.py"),
    ):
        assert place.judge_file(name, mode=GateMode.EDITS).action == "allow", name
    (place.ws.root.parent / "into").symlink_to(place.ws.root / "real")
    assert place.judge_file(str(place.ws.root.parent / "into/a.py"), mode=GateMode.EDITS).action == "ask"


def test_an_edit_that_the_mode_would_approve_never_reaches_the_file_outside_unasked(place):
    _odd_files(place)
    place.attended = False
    for name in ("shared.py", "alias.py"):
        ruling = asyncio.run(_pass(place, place.replacing(name, b"old", b"new")))
        assert not ruling.approved
    assert asyncio.run(_pass(place, place.replacing("plain.py", b"old", b"new"))).approved


async def _pass(place, draft):
    return await place.gate(GateMode.EDITS).propose(draft, call_id="c", events=place)


@pytest.mark.parametrize(
    ("setup", "name", "reason"),
    [
        ("git config include.path ../tools/settings", "tools/settings", "include.path"),
        ("git config core.fsmonitor tools/watch; touch tools/watch", "tools/watch", "core.fsmonitor"),
        ("git config filter.x.clean 'sh tools/clean'", "tools/clean", "filter.x.clean"),
        ("git config alias.up '!tools/up'", "tools/up", "alias.up"),
        ("git config core.hooksPath tools", "tools/any", "core.hookspath"),
        ("ln -s ../../tools/hook .git/hooks/pre-commit", "tools/hook", "pre-commit"),
        ("mkdir -p r/objects r/refs", "r/HEAD", "repository"),
        ("mkdir r; touch r/HEAD", "r/commondir", "repository"),
        ("git init -q --bare r", "r/config", "repository"),
    ],
)
def test_an_edit_of_what_git_starts_or_of_a_bare_repository_asks_in_every_mode(
    place, setup: str, name: str, reason: str
):
    subprocess.run(["git", "init", "-q"], cwd=place.ws.root, check=True)
    (place.ws.root / "tools").mkdir()
    assert place.judge_file(name, mode=GateMode.EDITS).action == "allow"
    subprocess.run(["sh", "-ec", setup], cwd=place.ws.root, check=True)
    for mode in (GateMode.EDITS, GateMode.AUTO):
        verdict = place.judge_file(name, mode=mode)
        assert verdict.action == "ask" and verdict.danger and reason in verdict.why[0], verdict
