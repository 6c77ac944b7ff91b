"""Runs without a person whose commands work in layers, in a repository of the user."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, say
from step.layered import events

SUITE = "import unittest\n\n\nclass Tests(unittest.TestCase):\n    def test_{0}(self):\n        self.assertTrue(True)\n"


def git(work: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True, text=True)
    return done.stdout


def headless(place: Path, *turns: str | Turn, **options: object) -> Driven:
    """A run without a person; a text is a command line."""
    model = ScriptedModel(
        [*(call("run_command", command=turn) if isinstance(turn, str) else turn for turn in turns), say("done")]
    )
    return Driven(place / "runs", place / "work", model, **options)


def by_commands(run: Driven) -> set[str]:
    """Return the files that commands changed."""
    return {one["path"] for one in events(run, "file_changed")}
