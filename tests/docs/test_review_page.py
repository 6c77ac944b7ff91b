"""Runs each command line of docs/how-to/review.md, with a scripted reviewer, in one project."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from contract.github_action.test_action_file import run_texts
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
JOBS = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
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
    """Make the state that a line reviews: the branch, main for a patch, or a change that is not committed."""
    if "--patch" in command:  # the page switches to main before
        return
    git(folder, "checkout", "-qf", "main")
    if "main...HEAD" in command:
        git(folder, "checkout", "-q", "topic")
    elif command.startswith("rundry review"):
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


@pytest.mark.long
def test_the_job_of_the_page_reviews_a_pull_request_and_posts_what_it_wrote(home: Home, tmp_path: Path):
    (text,) = JOBS
    job = yaml.safe_load(text)["jobs"]["review"]
    checkout, install, review, post = job["steps"]
    assert (checkout["with"]["fetch-depth"], checkout["with"]["persist-credentials"]) == (0, False)
    assert install["run"].startswith("pipx install") and job["permissions"]["pull-requests"] == "write"
    assert not [run for run in run_texts(job) if "${{" in run]
    source = committed(tmp_path / "source", {"till.py": BEFORE})
    git(source, "switch", "-qc", "topic")
    write(source, {"till.py": AFTER})
    git(source, "commit", "-qam", "two")
    git(tmp_path, "clone", "-q", source.as_uri(), "clone")
    programs = tmp_path / "programs"
    write(programs, {"gh": '#!/bin/sh\necho "$2"\ncat "$4"\n'})
    (programs / "gh").chmod(0o755)
    given = {"GITHUB_BASE_REF": "main", "RUNNER_TEMP": str(tmp_path), "GITHUB_REPOSITORY": "someone/project"}
    with Repairing({}) as server:
        own = {"RUNDRY_MODEL": "fake", "RUNDRY_API_BASE": server.base_url, "NUMBER": "12"}
        env = home.env | given | own | {"PATH": f"{programs}:{home.env['PATH']}"}
        ran = [
            subprocess.run(
                ["bash", "-e", "-c", step["run"]],
                cwd=tmp_path / "clone",
                env=env,
                capture_output=True,
                text=True,
                timeout=120,
            )
            for step in (review, post)
        ]
    assert [done.returncode for done in ran] == [0, 0], ran
    address, _, body = ran[1].stdout.partition("\n")
    assert address == "repos/someone/project/pulls/12/reviews"
    posted = json.loads(body)
    assert posted["commit_id"] == git(source, "rev-parse", "topic")
    assert [(one["path"], one["line"]) for one in posted["comments"]] == [("till.py", 2)]
