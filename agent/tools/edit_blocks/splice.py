"""Build the text that replaces a block from kept lines and new lines, with their endings. Does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from .block_lines import BlockLine, Document, aligned
from .indentation import UncertainBlock

Key = Callable[[str], str]
"""Returns the part of a line's content that is compared."""
_MERGED = (
    "a line that ends with CR would precede an empty line that ends with LF, and both would become one line break. "
    "Replace a block that includes the line after it."
)


def splice(
    document: Document,
    first: int,
    sent: Sequence[BlockLine],
    fresh: Sequence[BlockLine],
    key: Key,
    *,
    ends_file: bool,
    shifted: bool,
) -> str | UncertainBlock:
    """Return the new text for the rows from `first` on that `sent` replaces.

    `fresh` has the file's indentation. `ends_file`: a last line at the end of the file gets an ending. `shifted`: the
    old text was sent with another indentation, so white space in new blank lines means nothing.
    """
    stop = first + len(sent)
    real = document.lines(first, stop)
    bare = _without_added_blanks(real, sent, fresh)
    if isinstance(bare, UncertainBlock):
        return bare
    fresh = bare
    kept = _kept(real, fresh, key)
    changed = set(range(len(real))) - set(kept.values())
    own = "".join(line.body for j, line in enumerate(fresh) if j not in kept)
    for at, (line, given) in enumerate(zip(real, sent, strict=True)):
        curly = any(a != b and not b.isascii() for a, b in zip(line.body, given.body, strict=False))
        if line.body != given.body and (at in changed or (curly and key(own) != own)):
            return UncertainBlock(_other_character(first + at + 1, line.body, given.body))
    endings = _endings(document, first, real, kept, len(fresh))
    if endings and real[-1].end == "" and not ends_file:
        endings[-1] = ""
    contents = _contents(real, sent, fresh, kept, shifted=shifted)
    out = [content + end for content, end in zip(contents, endings, strict=True)]
    if _merges(document, first, stop, out):
        return UncertainBlock(_MERGED)
    return "".join(out)


def _contents(
    real: Sequence[BlockLine],
    sent: Sequence[BlockLine],
    fresh: Sequence[BlockLine],
    kept: dict[int, int],
    *,
    shifted: bool,
) -> list[str]:
    """Return the new lines without endings. A kept line is as in the file, unless the edit changes its end."""
    out: list[str] = []
    for j, line in enumerate(fresh):
        content = line.content
        if j in kept:
            old, given = real[kept[j]], sent[kept[j]]
            is_meant = given.trail == old.trail != line.trail  # the model changes it
            content = line.indent + old.body + (line.trail if is_meant else old.trail)
        elif shifted and not line.body:
            content = ""
        out.append(content)
    return out


def _merges(document: Document, first: int, stop: int, out: Sequence[str]) -> bool:
    """Return whether a CR and the LF of a following empty line become one line break."""
    after = [row + end for row, end in zip(document.rows[stop : stop + 1], document.ends[stop : stop + 1], strict=True)]
    before = document.ends[first - 1] if first else ""
    return any(one.endswith("\r") and other.startswith("\n") for one, other in pairwise([before, *out, *after]))


def _kept(real: Sequence[BlockLine], fresh: Sequence[BlockLine], key: Key) -> dict[int, int]:
    """Map each new line to the old line with the same content."""
    pairs = aligned(*[[(line.indent, key(line.body)) for line in lines] for lines in (real, fresh)])
    kept = {j: i for i, j in pairs}
    anchors = [(-1, -1), *pairs, (len(real), len(fresh))]
    for (i, j), (next_i, next_j) in pairwise(anchors):
        bodies = [key(line.body) for line in real[i + 1 : next_i]], [key(line.body) for line in fresh[j + 1 : next_j]]
        kept |= {j + 1 + b: i + 1 + a for a, b in aligned(*bodies) if real[i + 1 + a].body}
    return kept


def _endings(document: Document, first: int, real: Sequence[BlockLine], kept: dict[int, int], count: int) -> list[str]:
    """Choose line endings: a kept line's own, that of the replaced line, else that of the line above."""
    rows: list[int] = []
    for (j, i), (next_j, next_i) in pairwise([(-1, -1), *sorted(kept.items()), (count, len(real))]):
        rows += [min(i + k, next_i - 1) for k in range(1, next_j - j)]
        rows += [next_i]
    return [
        (document.ends[first + row] if first + row >= 0 else "") or document.ending_near(first + row)
        for row in rows[:count]
    ]


def _without_added_blanks(
    real: Sequence[BlockLine], sent: Sequence[BlockLine], fresh: Sequence[BlockLine]
) -> Sequence[BlockLine] | UncertainBlock:
    """Remove trailing white space of new lines if all lines of the old text have some that the file lacks."""
    added = [bool(given.trail) and not found.trail for given, found in zip(sent, real, strict=True) if found.body]
    if not any(added) or not any(line.trail for line in fresh):
        return fresh
    if all(added):
        return [BlockLine(line.indent, line.body, "", line.end) for line in fresh]
    if len(added) > 1:
        return UncertainBlock(
            "old_text has white space at the ends of lines where the file has none, and so has new_text. "
            "Send both without it."
        )
    return fresh


def _other_character(number: int, real: str, sent: str) -> str:
    at = next((k for k, (a, b) in enumerate(zip(real, sent, strict=False)) if a != b), min(len(real), len(sent)))
    has = f"U+{ord(real[at]):04X}" if at < len(real) else "nothing more"
    given = f"U+{ord(sent[at]):04X}" if at < len(sent) else "nothing"
    return (
        f"line {number} of the file has the character {has} ({real[at : at + 1]}) where old_text has {given} "
        f"({sent[at : at + 1]}). Copy that character exactly in both texts, or leave the line out."
    )
