"""Apply the user's edit of a text to the present content of the file. Does not import textual."""

from __future__ import annotations


def carried(base: str, edited: str, now: str) -> str | None:
    """Return `now` with the changes from `base` to `edited`; None if both changed the same place."""
    from rundry.agent import compare_contents  # the gate costs ~15 ms to import

    raw = base.encode()
    mine, theirs = compare_contents(raw, edited.encode()), compare_contents(raw, now.encode())
    if mine is None or theirs is None:
        return None
    others = [change for hunk in theirs.compare() for change in hunk.changes]
    pieces: list[str] = []
    at = shift = done = 0
    for hunk in mine.compare():
        for a1, a2, b1, b2 in hunk.changes:
            while done < len(others) and others[done].a2 < a1:
                other = others[done]
                shift += (other.b2 - other.b1) - (other.a2 - other.a1)
                done += 1
            if done < len(others) and others[done].a1 <= a2:
                return None
            pieces += theirs.new[at : a1 + shift]
            pieces += mine.new[b1:b2]
            at = a2 + shift
    return "".join([*pieces, *theirs.new[at:]])
