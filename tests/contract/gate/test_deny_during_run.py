"""`rundry ctl RUN deny`: a rule that comes during a run reaches whatever reads or runs, and outlives a kill."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from fakes.project import git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, calls, say

LOOKS = calls(
    Call("read_file", {"path": "private/key.txt"}),
    Call("search", {"pattern": "hidden-word"}),
    Call("run_command", {"command": "grep -rh hidden-word . | sort -u"}),
    Call("write_file", {"path": "private/key.txt", "content": "mine\n"}),
)
HELD = dataclasses.replace(LOOKS, text="I look at the files first", hold_after=2)
DENIED = "private/**"


def test_a_rule_that_is_added_during_a_run_reaches_tools_commands_and_a_resumed_run(home: Home, project: Path):
    (project / "private").mkdir()
    (project / "private" / "key.txt").write_text("hidden-word\n")
    git(project, "add", ".")
    argv = ["run", "look around", "--headless", "--json", "--until", "test -f done", "--gate", "auto", "--steps", "1"]
    with ScriptedServer([HELD, say("looked"), LOOKS], then=say("looked")) as server:
        with home.start(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project) as running:
            running.wait_event("text_arrived")
            wrong = home.run("ctl", "deny", "private", cwd=project)
            assert wrong.exit_code == 2 and 'write "path:GLOB"' in wrong.stderr, wrong
            said = home.run("ctl", "deny", f"path:{DENIED}", cwd=project)
            assert said.stdout.strip().endswith("deny  accepted"), said
            assert running.wait_event("rule_added")["rule"]["path"] == DENIED
            again = home.run("ctl", "deny", f"path:{DENIED}", cwd=project)
            assert again.exit_code == 1 and "has this rule already" in again.stderr
            server.release()
            first = running.finish().results()
        ran = home.run("resume", "--headless", "--json", "--steps", "3", cwd=project)
    for results in (first, ran.results()):
        assert len(results) == 4, results
        assert not any("hidden-word\n" in text for text in results), results
        assert all("deny" in results[place] for place in (0, 3)), results
    assert (project / "private" / "key.txt").read_text() == "hidden-word\n"
