"""Folders for runs whose commands write into layers below a place that commands can see."""

from __future__ import annotations

import pytest
from fakes.visible_folders import visible_folder

from rundry.agent.sandbox.sandbox import Sandbox

from ..layered import three_folders


@pytest.fixture
async def place(pytestconfig):
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    with three_folders(visible_folder(pytestconfig.rootpath)) as folder:
        yield folder
