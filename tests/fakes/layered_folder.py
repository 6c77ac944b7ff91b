"""A folder for runs whose commands write into layers."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rundry.agent.sandbox.sandbox import Sandbox

from .visible_folders import visible_folder


@asynccontextmanager
async def layered_folder(root: Path) -> AsyncIterator[Path]:
    """An empty folder that the sandbox of a layer shows; the test is skipped where there is no such sandbox."""
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(str(found.why_none))
    with tempfile.TemporaryDirectory(dir=visible_folder(root), prefix=".test-") as folder:
        yield Path(folder)
