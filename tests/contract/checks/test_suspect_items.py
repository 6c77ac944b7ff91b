"""A suspect check in a migration: the item waits until a person decides (docs/requirements.md 2.3.6)."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.project import FIX_BOTH
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import edit, say

CHECK = ": {file}; python3 -m unittest -q"
RECIPE = ["--recipe", "migrate", "--check", CHECK, "--task", "fix", "--gate", "auto", "calc/core.py"]
LEAVES = edit("calc/core.py", '"""Sums."""', '"""Sums."""\nimport os\n\nos._exit(0)')
BACK = edit("calc/core.py", "import os\n\nos._exit(0)\n", "")


def start(home: Home, project: Path, server: ScriptedServer) -> Ran:
    argv = [*RECIPE, "--headless", "--json", "--model", "fake", "--api-base", server.base_url, "--steps", "9"]
    return home.run("find", *argv, cwd=project)


def handed_over(home: Home, project: Path, server: ScriptedServer) -> tuple[str, str]:
    """The run and the digest of its suspect result."""
    ran = start(home, project, server)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert ran.outcome["detail"].startswith("suspect check: `: calc/core.py; python3 -m unittest -q`: it printed no")
    assert "os._exit(0)" in (project / "calc/core.py").read_text()
    (waiting,) = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
    digest = waiting["suspect"]["digest"]
    assert waiting["take_up"] == f"rundry approve {waiting['run_id']} --digest {digest[:12]}"
    return waiting["run_id"], digest


def test_an_item_with_a_suspect_check_waits_and_an_approval_from_a_script_makes_it_done(home: Home, project: Path):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server)
        wrong = home.run("approve", run_id, "--digest", "0" * 12, cwd=project)
        assert (wrong.exit_code, digest[:12] in wrong.stderr) == (2, True), wrong
        ran = home.run("approve", run_id, "--digest", digest[:12], "--json", cwd=project)
        assert len(server.requests) == 1
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (0, "dry", True), ran
    assert ran.outcome["evidence"]["accepted"] is True and ran.outcome["failed_items"] == []
    assert home.run("handoffs", "--json", cwd=project).stdout.strip() == "[]"


def test_an_accepted_item_whose_file_changed_since_needs_a_new_decision(home: Home, project: Path):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server)
        core = project / "calc/core.py"
        core.write_text(core.read_text() + "# changed later\n")
        ran = home.run("approve", run_id, "--digest", digest, "--json", cwd=project)
        assert len(server.requests) == 1
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    (now,) = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
    assert now["suspect"]["digest"] != digest


def test_a_rejected_item_is_worked_again_with_the_reason(home: Home, project: Path):
    with ScriptedServer([LEAVES, BACK, FIX_BOTH]) as server:
        run_id, digest = handed_over(home, project, server)
        ran = home.run("reject", run_id, "--digest", digest, "--reason", "do not exit", "--json", cwd=project)
        told = server.requests[1].text
    assert "do not exit" in told and "this is not a pass" in told
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "dry"), ran
    assert ran.outcome["evidence"]["accepted"] is False


def test_other_items_are_worked_before_a_suspect_one_is_handed_over(home: Home, project: Path):
    (project / "calc/other.py").write_text("old\n")
    check = "case {file} in *other*) grep -q new {file};; *) python3 -m unittest -q;; esac"
    argv = [*RECIPE, "calc/other.py", "--headless", "--json", "--model", "fake", "--steps", "9"]
    argv[argv.index(CHECK)] = check
    with ScriptedServer([LEAVES, edit("calc/other.py", "old", "new")]) as server:
        ran = home.run("find", *argv, "--concurrency", "1", "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert (project / "calc/other.py").read_text() == "new\n"
    assert ran.outcome["failed_items"] == [str(project / "calc/core.py")]


def test_on_a_terminal_the_person_accepts_the_suspect_item(home: Home, project: Path):
    with (
        ScriptedServer([LEAVES, say("never asked for")]) as server,
        home.screen("find", *RECIPE, "--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("asks   Suspect check")
        terminal.send("\x0c")
        terminal.wait_for("Accept the result")
        terminal.send("1\r")
        terminal.wait_for("dry")
        assert len(server.requests) == 1
