"""Fixtures of several files of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run.model.pictures_sent import PICTURES

from rundry.agent.protocol import (
    LoopKind,
)


@pytest.fixture
def chat(driven: Callable[..., Any], work: Path) -> Callable[..., Any]:
    """A chat without a first message, with four pictures in its folder."""
    for name, data in PICTURES.items():
        (work / name).write_bytes(data)

    def make(*turns: Any, **more: Any) -> Any:
        return driven(*turns, **{"loop": LoopKind.CHAT, "task": "", **more})

    return make
