"""Each screen looks as it did when someone looked at it: at four sizes, with the same tokens in four themes."""

from __future__ import annotations

import sys

import pytest
from fakes.sandboxes import needs_bubblewrap, needs_home_outside_tmp
from sampling import sampled

from .compare import ACCEPTED, difference
from .scenes import SCENES, journals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the screens name the sandbox and paths of Linux")


PLAYED = [name for name in SCENES if name not in journals.SCENES]


@pytest.mark.parametrize("name", sampled(PLAYED, 10))
async def test_a_screen_shows_what_was_accepted(name: str):
    found = await difference(name)
    assert not found, found


@needs_bubblewrap  # the screen names the sandbox
@needs_home_outside_tmp
@pytest.mark.parametrize("name", sampled(list(journals.SCENES), 1))
async def test_a_run_that_really_ran_looks_as_it_was_accepted(name: str):
    found = await difference(name)
    assert not found, found


def test_each_accepted_snapshot_has_a_scene():
    assert {path.stem for path in ACCEPTED.glob("*.txt")} == set(SCENES)
