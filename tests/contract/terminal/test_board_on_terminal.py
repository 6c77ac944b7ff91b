"""A search on a real terminal: the evidence of the selected finding, the editor, and verdicts after the end."""

from __future__ import annotations

import sys
from pathlib import Path

from fakes.rundry import Home

WORKER = """\
import json, sys
item = json.load(sys.stdin)
print(json.dumps({"findings": [
    {"title": "old word", "evidence": "a.py:12", "detail": "it says old"},
    {"title": "older word", "evidence": "a.py:20"},
]}))
"""


def searched(project: Path) -> None:
    """Write a search that has two findings."""
    (project / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    (project / "worker.py").write_text(WORKER)
    (project / "search.toml").write_text(
        f'task = "find old words"\n[[seed]]\nkind = "file"\nvalue = "a.py"\n'
        f'[worker]\ncommand = ["{sys.executable}", "worker.py"]\n'
    )


def test_the_editor_opens_the_cited_line_where_it_is_now_and_a_verdict_after_the_end_is_in_the_journal(
    home: Home, project: Path, tmp_path: Path
):
    searched(project)
    assert home.run("find", "search.toml", "--trust", "--headless", cwd=project).exit_code == 0
    source = (project / "a.py").read_text()
    (project / "a.py").write_text("new first line\n" + source.replace("line 20\n", "another line\n"))
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    with home.screen("watch", cwd=project, env={"EDITOR": str(editor)}) as terminal:
        terminal.wait_for("F2 board")
        terminal.press("f2")
        terminal.wait_for("⏎ open")
        terminal.press("6")
        terminal.wait_for("older word")
        terminal.wait_for("y confirm")
        terminal.press("home")
        terminal.wait_for("moved from line 12 since it was reported")
        terminal.wait_for("it says old")
        terminal.press("o")
        terminal.wait_for(
            lambda _: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text().count("\n") == 2
        )
        assert (tmp_path / "opened").read_text().splitlines() == ["+13", str((project / "a.py").resolve())]
        terminal.press("down")
        terminal.wait_for("changed since it was reported")
        terminal.press("y")
        terminal.wait_for("confirm  older word")
        terminal.press("enter")
        terminal.wait_for("✓ you")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
    ran = home.run("export", "--format", "jsonl", cwd=project)
    judged = [event for event in ran.of("finding_judged") if event["by"] == "person"]
    assert [(event["key"].startswith(str(project.resolve())), event["verdict"]) for event in judged] == [
        (True, "confirmed")
    ]
