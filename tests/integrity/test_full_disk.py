"""A disk that fills up during a run."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, call

LARGEST = 500_000
"""Bytes that a file may have: the log of the journal reaches this in the first steps."""


@pytest.mark.long
def test_a_disk_that_fills_up_ends_the_run_with_the_code_for_later_and_the_run_resumes(home: Home, tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    long = " ".join(f"line {n} of {n * n}" for n in range(9_000))
    turns = [Turn(text=f"{n} {long}", calls=call("list_files").calls) for n in range(4)]
    home.run("--version", cwd=work)
    with ScriptedServer([*turns, call("write_file", path="done", content="yes")]) as server:
        model = ["--model", "fake", "--api-base", server.base_url, "--tokens", "none", "--gate", "edits"]
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, before[1]))
        try:
            ran = home.run("run", "go", "--headless", "--until", "test -f done", "--scope", "done", *model, cwd=work)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert ran.exit_code == 75, ran
        (said,) = [line for line in ran.stderr.splitlines() if line.startswith("rundry: ")]
        assert ".db" in said and ("disk is full" in said or "could not be" in said)
        again = home.run("resume", "--headless", "--tokens", "none", cwd=work)
    assert again.exit_code == 0, again
