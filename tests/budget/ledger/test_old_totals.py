"""Journals of earlier versions add up to what those versions computed."""

from __future__ import annotations

import json
from pathlib import Path

from budget.ledger.totals import STORED, all_totals


def test_every_stored_journal_adds_up_to_the_same_totals_as_before(tmp_path: Path):
    known = json.loads(STORED.read_text())
    found = all_totals(tmp_path)
    assert found.keys() == known.keys()
    for name in known:
        assert found[name] == known[name], name
