"""Runs each command line of docs/how-to/review.md, with a scripted reviewer, in one project."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from docs.test_command_lines import BLOCK, EXIT, ROOT, lines_of
from fakes.reviewing import Reviewer, committed, found, git, write
from fakes.rundry import Home
from fakes.turns import Turn, call

PAGE = ROOT / "docs/how-to/review.md"
BEFORE = "def last(items):\n    return items[len(items) - 1]\n"
AFTER = "def last(items):\n    return items[len(items)]\n"
TEST = """\
import unittest
import till

class Tests(unittest.TestCase):
    def test_it_is_there(self):
        self.assertTrue(callable(till.last))
"""
BUG = found("the index is one too large", "till.py:2")
NAMES = ["logic", "errors", "sums", *(f"reviewer {n}" for n in range(1, 5))]


class Repairing(Reviewer):
    def _report(self, lens: str, prompt: str) -> Turn:
        self.lenses = {name: [BUG] for name in NAMES} if "+     return items[len(items)]\n" in prompt else {}
        return super()._report(lens, prompt)


def repairs(task: str, messages: list[dict[str, Any]]) -> Turn:
    turns = [
        call("read_file", path="till.py"),
        call("write_file", path="till.py", content=BEFORE),
        call("finish", answer="repaired", citations=["till.py:2"]),
    ]
    return turns[min(2, sum(message.get("role") == "tool" for message in messages))]


def lay_out(folder: Path, command: str) -> None:
    """Make the state that a line reviews: the branch, HEAD for a patch, or a change that is not committed."""
    git(folder, "checkout", "-qf", "main")
    if "main...HEAD" in command:
        git(folder, "checkout", "-q", "topic")
    elif command.startswith("rundry review") and "--patch" not in command:
        write(folder, {"till.py": AFTER})


@pytest.mark.long
def test_each_command_line_of_the_page_does_what_the_page_says(home: Home, tmp_path: Path):
    ignored = "*.diff\n*.json\n*.sarif\n"
    folder = committed(tmp_path / "project", {"till.py": BEFORE, "test_till.py": TEST, ".gitignore": ignored})
    git(folder, "switch", "-qc", "topic")
    write(folder, {"till.py": AFTER})
    git(folder, "commit", "-qam", "two")
    write(folder, {name: text for _, name, text in BLOCK.findall(PAGE.read_text()) if name})
    with Repairing({}, fixes=repairs) as server:
        home.env |= {"RUNDRY_MODEL": "fake", "RUNDRY_API_BASE": server.base_url, "RUNDRY_TIME": "90s"}
        for line in lines_of(PAGE):
            command, code = re.sub(r"\s+#.*$", "", line), EXIT.search(line)
            wanted = int(code[1]) if code else 0
            lay_out(folder, command)
            if command.startswith("rundry review") and "--headless" not in command:  # it opens a screen
                command, wanted = f"{command} --headless", 7
            if re.search(r"\bRUN\b", command):
                runs = json.loads(home.run("runs", "--json", cwd=folder).stdout)
                command = re.sub(r"\bRUN\b", runs[0]["run_id"], command)
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=home.env, input="", capture_output=True, text=True, timeout=120
            )
            assert done.returncode == wanted, (command, done)
    assert (folder / "till.py").read_text() == BEFORE and (folder / "review.sarif").exists()
