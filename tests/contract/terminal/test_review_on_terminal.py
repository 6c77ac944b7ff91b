"""A review in a real terminal: its board, and a repair that a person decides on at the gate of the review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.reviewing import Reviewer, committed, found
from fakes.rundry import Home
from fakes.turns import Turn, call

BEFORE = "def last(items):\n    return items[len(items) - 1]\n"
AFTER = "def last(items):\n    return items[len(items)]\n"
BUG = found("the index is one too large", "till.py:2")
FAR = found("nobody calls it", "other.py:1")
pytestmark = pytest.mark.long


class Repairing(Reviewer):
    def _report(self, lens: str, prompt: str) -> Turn:
        self.lenses = {"logic": [BUG, FAR]} if "+     return items[len(items)]\n" in prompt else {}
        return super()._report(lens, prompt)


def repairs(task: str, messages: list[dict[str, Any]]) -> Turn:
    turns = [
        call("read_file", path="till.py"),
        call("write_file", path="till.py", content=BEFORE),
        call("finish", answer="repaired", citations=["till.py:2"]),
    ]
    return turns[min(2, sum(message.get("role") == "tool" for message in messages))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = committed(tmp_path / "project", {"till.py": BEFORE, "other.py": "import till\n"})
    (made / "till.py").write_text(AFTER)
    return made


def options(server: Reviewer, *argv: str) -> list[str]:
    return ["review", "--model", "fake", "--api-base", server.base_url, "--dry-passes", "1", *argv]


def test_the_board_shows_the_findings_and_tells_apart_what_is_outside_of_the_diff(home: Home, folder: Path):
    with Repairing({}) as server, home.screen(*options(server), cwd=folder) as terminal:
        terminal.wait_for("✓ 3/3  the index is one too large")
        terminal.wait_for("✓ 3/3  nobody calls it")
        terminal.wait_for(lambda lines: "ended" in lines[0])
        terminal.wait_for("1 of them outside of")
        terminal.press("f2")
        terminal.wait_for("y confirm")
        terminal.press("end")
        terminal.wait_for("outside of the diff")


def test_a_repair_is_one_proposal_at_the_gate_of_the_review_and_y_applies_it(home: Home, folder: Path):
    argv = ("--fix", "--until", "python3 -m py_compile till.py", "--tokens", "3M")
    with Repairing({}, fixes=repairs) as server, home.screen(*options(server, *argv), cwd=folder) as terminal:
        terminal.wait_for("▌ y approve")
        terminal.wait_for("run 2  the index is one too large")
        assert (folder / "till.py").read_text() == AFTER, "nothing is applied without a decision"
        terminal.press("y")
        terminal.wait_for(lambda _: (folder / "till.py").read_text() == BEFORE)
        terminal.wait_for(lambda lines: "ended" in lines[0])
        terminal.wait_for("confirmed nothing; 1 finding repaired")


def test_a_rejected_repair_is_not_applied_and_the_review_says_what_is_left(home: Home, folder: Path):
    argv = ("--fix", "--until", "python3 -m py_compile till.py", "--tokens", "3M")
    with Repairing({}, fixes=repairs) as server, home.screen(*options(server, *argv), cwd=folder) as terminal:
        terminal.wait_for("▌ y approve")
        terminal.press("n")
        terminal.wait_for("0 findings repaired, 1 not: the index is one too large")
    assert (folder / "till.py").read_text() == AFTER
