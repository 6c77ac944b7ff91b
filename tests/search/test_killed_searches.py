"""A search by lenses, sceptics and a critic, killed at many moments: it ends as the one that nobody killed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fakes.killing.killed import TESTS


@pytest.mark.long
@pytest.mark.parametrize("words", [["131"], ["173", "leads"]])
def test_a_search_that_is_killed_anywhere_ends_with_the_same_items_findings_and_verdicts(tmp_path, words):
    (tmp_path / "runs").mkdir(mode=0o700)
    command = [sys.executable, "-m", "fakes.killing.killed_search", str(tmp_path / "runs"), *words]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
