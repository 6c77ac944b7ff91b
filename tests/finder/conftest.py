"""A journal for the frontier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journals import make_journal

from rundry.agent.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = make_journal(tmp_path / "runs" / "run.db")
    yield made
    made.close()
