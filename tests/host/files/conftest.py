"""Fixtures of several files of this folder."""

import pytest

from rundry.agent.host.workspace_paths import Workspace


@pytest.fixture
def ws(tmp_path):
    root = tmp_path / "w"
    root.mkdir()
    return Workspace(root)
