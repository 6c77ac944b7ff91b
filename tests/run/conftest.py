"""A small folder to work in, and a place for runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with two files."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    return folder


@pytest.fixture
def driven(tmp_path: Path, work: Path) -> Callable[..., Driven]:
    """A run on these turns."""
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)

    def make(*turns: Any, then: Any = None, model: dict[str, Any] | None = None, **options: Any) -> Driven:
        return Driven(runs, work, ScriptedModel(turns, then=then, **(model or {})), **options)

    return make
