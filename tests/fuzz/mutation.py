"""Byte strings for hypothesis: seeds with cuts, flips, repeats and words put in, and bytes without any sense."""

from __future__ import annotations

from hypothesis import strategies as st

from .target import Target

MOST_EDITS = 6
_FRACTION = st.integers(0, 10_000)


@st.composite
def damaged(draw: st.DrawFn, target: Target) -> bytes:
    """A seed of the target with a few edits."""
    data = bytearray(draw(st.sampled_from(target.seeds)))
    pieces = st.one_of(st.sampled_from(target.words or (b"\0",)), st.binary(max_size=8))
    for _ in range(draw(st.integers(1, MOST_EDITS))):
        at = draw(_FRACTION) * len(data) // 10_000
        end = min(len(data), at + draw(st.integers(0, 40)))
        match draw(st.integers(0, 4)):
            case 0 if at < len(data):
                data[at] ^= draw(st.integers(1, 255))
            case 1:
                del data[at:end]
            case 2:
                data[at:end] = draw(pieces)
            case 3:
                data[at:at] = data[at:end] * draw(st.integers(1, 4))
            case _:
                data[at:at] = draw(pieces)
    return bytes(data)


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """What the target is run on."""
    words = st.lists(st.sampled_from(target.words or (b"",)), max_size=12).map(b"".join)
    return st.one_of(damaged(target), damaged(target), words, st.binary(max_size=300))
