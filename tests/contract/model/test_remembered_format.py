"""What a run learned about a model on the user's own server is used by the next run."""

from __future__ import annotations

from pathlib import Path

from fakes.project import CHECK, make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

CODE = say("```python\ndef add(a, b):\n    return a + b\n```\n")
BOTH = say(
    "```python\ndef add(a, b):\n    return a + b\n\n\ndef mean(values):\n    return sum(values) / len(values)\n```\n"
)


def test_the_format_that_a_run_changed_to_is_where_the_next_run_begins(home: Home, tmp_path: Path):
    folder = tmp_path / "calculator"
    folder.mkdir()
    make_project(folder)
    with ScriptedServer([CODE, CODE], then=BOTH) as server:
        options = ("--until", CHECK, "--headless", "--gate", "edits", "--model", "openai/fake")
        ran = home.run("run", "repair it", *options, "--api-base", server.base_url, cwd=folder)
        assert "functions instead of tools" in ran.stderr and ran.exit_code == 0, ran
        asked = [bool(request.body.get("tools")) for request in server.requests]
        assert asked == [True, True, False]
        (folder / "calc/core.py").write_text((folder / "calc/core.py").read_text().replace("a + b", "a - b"))
        again = home.run("run", "repair it", *options, "--api-base", server.base_url, cwd=folder)
        assert again.exit_code == 0 and "edit format: functions" in again.stderr, again
        assert not server.requests[-1].body.get("tools") and len(server.requests) == 4
