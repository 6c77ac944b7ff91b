"""A place for staged runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fakes.layered import layered_place
from fakes.staged import Place


@pytest.fixture
async def place(pytestconfig: pytest.Config) -> AsyncIterator[Place]:
    async with layered_place(pytestconfig.rootpath) as folder:
        (folder / "project").mkdir()
        found = Place(folder)
        yield found
        found.home.end_runners()
