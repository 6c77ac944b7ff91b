"""A proposal in conflict with an edit of its file."""

from __future__ import annotations

from rundry.agent.protocol import ProposalRebased

MERGED = b"""one
<<<<<<< on disk
zwei
||||||| before
two
=======
2
>>>>>>> proposed
three
"""


async def in_conflict(place, disk=b"one\nzwei\nthree\n", text=b"one\ntwo\nthree\n"):
    """A gate with a change of `two` to `2`, in conflict with what a person wrote."""
    file = place.file("a.py", text)
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    file.write_bytes(disk)
    await place.clock.advance(1.1)
    return gate, task, file


def newest(place) -> ProposalRebased:
    return place.of(ProposalRebased)[-1]
