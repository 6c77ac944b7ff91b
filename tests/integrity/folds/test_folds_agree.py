"""What a run has used, what waits, who is in control, and its limits: every fold of a journal agrees at any event."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from integrity.folds.every_fold import disagreements_about_damage, disagreements_of
from integrity.folds.kinds_of_runs import RUNS
from sampling import sampled


@pytest.mark.parametrize("name", sampled(list(RUNS), 6))
async def test_all_folds_of_a_journal_agree_wherever_it_is_cut(name: str, tmp_path: Path):
    found = disagreements_of(await RUNS[name](tmp_path), tmp_path / "copy.db")
    assert found == [], "\n".join(found[:20])


async def test_all_folds_agree_about_a_journal_with_a_damaged_event(tmp_path: Path):
    journal = await RUNS["goal"](tmp_path)
    for kind in ("charged", "call_admitted", "text_arrived", "proposal_decided", "step_finished", "run_ended"):
        copy = tmp_path / f"{kind}.db"
        shutil.copy(journal, copy)
        raw = sqlite3.connect(copy)
        raw.execute("UPDATE events SET body = x'7b' WHERE seq = (SELECT min(seq) FROM events WHERE type = ?)", [kind])
        raw.commit()
        raw.close()
        assert disagreements_about_damage(copy) == [], kind
