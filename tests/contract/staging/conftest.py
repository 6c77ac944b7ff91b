"""A place for staged runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fakes.layered_folder import layered_folder
from fakes.staged_project import StagedProject


@pytest.fixture
async def place(pytestconfig: pytest.Config) -> AsyncIterator[StagedProject]:
    async with layered_folder(pytestconfig.rootpath) as folder:
        (folder / "project").mkdir()
        found = StagedProject(folder)
        yield found
        found.home.end_runners()
