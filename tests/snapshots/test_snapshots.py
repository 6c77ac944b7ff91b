"""Each screen looks as it did when someone looked at it: at four sizes, with the same tokens in four themes."""

from __future__ import annotations

import sys

import pytest

from .compare import ACCEPTED, difference
from .scenes import SCENES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the screens name the sandbox and paths of Linux")


@pytest.mark.parametrize("name", SCENES)
async def test_a_screen_shows_what_was_accepted(name: str):
    found = await difference(name)
    assert not found, found


def test_each_accepted_snapshot_has_a_scene():
    assert {path.stem for path in ACCEPTED.glob("*.txt")} == set(SCENES)
