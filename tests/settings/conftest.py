"""Fixtures of several files of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from settings.setting_places import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
