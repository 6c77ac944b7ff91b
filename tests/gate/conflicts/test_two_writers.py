"""A thousand random sequences in which the run and a person write to one file: whose work is ever lost?

Nothing is, by this: what the person wrote is still there, or stands in the bytes from which the proposal was shown
that a person approved. Real files, the real gate, the real write; half of the sequences race.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from gate.conflicts.two_writers import Sequence
from sampling import sampled

SEEDS = [range(start, start + 125) for start in range(0, 1000, 125)]


@pytest.fixture(scope="module")
def quick():
    """In memory where there is such a place: thousands of writes to a disk cost a minute."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.mark.parametrize("seeds", sampled(SEEDS, 2), ids=str)
async def test_no_write_is_lost_in_a_thousand_sequences_of_two_writers(quick, seeds):
    met: Counter[str] = Counter()
    for seed in seeds:
        sequence = Sequence(quick / str(seed), seed)
        try:
            await sequence.play()
        finally:
            await asyncio.to_thread(sequence.person.end)
        try:
            sequence.judge()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        met.update(sequence.met)
        shutil.rmtree(quick / str(seed))
    least = {"written, no conflict": 20, "written, conflict": 1, "rebased": 15, "conflict": 10, "stale": 4}
    assert all(met[what] >= count for what, count in least.items()), met
