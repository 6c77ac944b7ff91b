"""Edits of real files with some eighty mistakes that models make: each lands as it was meant or is refused.

A sample of all kinds runs here. More, with the share of each outcome by kind:

    cd tests && python -m noise 10000      # optionally a seed behind the count

or through pytest with the count in the environment: `NOISY_EDITS=10000 pytest tests/tools/test_tools_edit_noise.py`.
"""

from __future__ import annotations

import os

import pytest
from noise.kinds import KINDS
from noise.run import run

_COMMON = (
    "none", "none, mixed endings", "dedented", "dedented old only", "shifted", "trailing space lost",
    "trailing space added", "LF sent for CRLF", "CRLF sent", "numbers `12| `", "numbers `12: `", "numbers `  12\\t`",
    "no last newline, new only", "blank lines around",
)  # fmt: skip


@pytest.mark.long
def test_no_noisy_edit_is_applied_wrongly_and_common_mistakes_are_tolerated(tmp_path):
    count = int(os.environ.get("NOISY_EDITS", 12 * len(KINDS)))
    tally = run(tmp_path, count, seed=20)
    assert not tally.wrong, "\n\n".join([*tally.wrong[:5], tally.table()])
    right = [tally.counts[kind]["right"] for kind in _COMMON]
    total = [tally.counts[kind].total() for kind in _COMMON]
    assert sum(right) >= 0.85 * sum(total), tally.table()
