"""Find the indentation for the new lines, or why it is not certain. Does no I/O.

The new text may be indented like the old text as it was sent, or like the file. Unchanged lines, and the first and
last line, show which: a result counts only if such evidence supports it and no other result.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import msgspec

from .block_lines import BlockLine, aligned, indent_text
from .indents import Explanation, FirstOnly, Shift, Steps, explanations

_ALIKE = 0.5


class UncertainBlock(msgspec.Struct, frozen=True):
    """A block whose place is known, but whose replacement is not certain."""

    why: str
    """Reason for the model, in at most two sentences."""


class BlockContext(msgspec.Struct, frozen=True):
    """The replaced lines as in the file and as the model sent them, and the lines around them."""

    real: list[BlockLine]
    sent: list[BlockLine]
    number: int
    """Number of the first line, 1-based."""
    unit: int
    """Spaces of one indentation level in the file."""
    before: str
    after: str
    """Indentation of the nearest lines with content above and below."""


class _Outcome(msgspec.Struct, frozen=True):
    lines: list[BlockLine]
    context: bool
    """The new text keeps a line of the file that has words."""
    shows_change: bool
    """A kept line was sent with an indentation that differs from the file."""
    first: bool
    last: bool
    """The first or last line was sent with another indentation, and gets that of the line it replaces."""
    ends: bool
    """The first and last line are unchanged in the file."""

    @property
    def supported(self) -> bool:
        """Whether evidence makes this result likely."""
        return self.shows_change or self.first or (self.last and self.context)


def indent_like_file(context: BlockContext, fresh: list[BlockLine]) -> list[BlockLine] | UncertainBlock:
    """Return the new lines with their indentation in the file."""
    pairs = [(given, found) for given, found in zip(context.sent, context.real, strict=True) if found.body]
    if not pairs or not any(line.body for line in fresh):
        return fresh
    sent, real = [given for given, _ in pairs], [found for _, found in pairs]
    if all(given.indent == found.indent for given, found in pairs):
        why = _doubt(context, real, fresh)
        return UncertainBlock(why) if why else fresh
    known = explanations(sent, real, fresh, context.unit)
    if not known:
        return UncertainBlock(_uneven(context))
    moves_only = [line.body for line in fresh if line.body] == [line.body for line in real]
    chosen = None if moves_only else _single(context, known, sent, real, fresh)
    if chosen is None and not moves_only and (len(real) == 1 or not any(isinstance(each, FirstOnly) for each in known)):
        chosen = _chosen(known, sent, real, fresh)
    return chosen or UncertainBlock(_unclear(context, sent, real))


def _doubt(context: BlockContext, real: Sequence[BlockLine], fresh: list[BlockLine]) -> str | None:
    """Return why the new text is not used as it is although the old text matched exactly."""
    words = [line for line in fresh if line.body]
    if [line.body for line in words] == [line.body for line in real]:
        lost = any(old.indent and not new.indent for old, new in zip(real, words, strict=True))
        return _changed(words[0], real[0]) if lost else None
    outcome = _outcome(fresh, real, real)
    home = next((line for line in real if line.body == words[0].body), real[0])
    placed = words[0].indent in (real[0].indent, home.indent)
    if not placed and (not outcome.context or (home.indent and not words[0].indent)):
        return _changed(words[0], home)
    lost = (
        _lost(context, fresh)
        or _left_parent(real, words)
        or _lost_end(context, real, words)
        or _left_block(real, words)
    )
    if lost is None:
        return None
    return (
        f"`{lost.body[:60]}` in new_text lacks the indentation that this line has in the file. "
        "Send new_text with the file's indentation."
    )


def _changed(new: BlockLine, old: BlockLine) -> str:
    return (
        f"new_text begins with {indent_text(new.indent)} and old_text with {indent_text(old.indent)}, "
        "so its indentation is unclear. "
        "If a change of indentation is meant, put an unchanged line before or after it in both texts."
    )


def _lost(context: BlockContext, fresh: list[BlockLine]) -> BlockLine | None:
    """Return a changed line that lacks the indentation of the line in its position."""
    keys = [[(line.indent, line.body) for line in lines] for lines in (context.real, fresh)]
    anchors = [(-1, -1), *aligned(*keys), (len(context.real), len(fresh))]
    for (i, j), (next_i, next_j) in pairwise(anchors):
        if next_i - i != next_j - j:
            continue
        for old, new in zip(context.real[i + 1 : next_i], fresh[j + 1 : next_j], strict=True):
            if old.indent and new.body and not new.indent and _alike(old.body, new.body):
                return new
    return None


def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _ALIKE


def _lost_end(context: BlockContext, real: Sequence[BlockLine], words: Sequence[BlockLine]) -> BlockLine | None:
    """Return the last line, if it lost its indentation and the next line in the file has some."""
    last = words[-1]
    known = any(line.indent and line.body == last.body for line in real)
    return last if context.after and known and not last.indent else None


def _left_block(real: Sequence[BlockLine], words: Sequence[BlockLine]) -> BlockLine | None:
    """Return a kept line that now has less indentation than any line of the block had."""
    least = min(len(line.indent) for line in real)
    known = {line.body for line in real}
    return next((line for line in words if len(line.indent) < least and line.body in known), None)


def _left_parent(real: Sequence[BlockLine], words: Sequence[BlockLine]) -> BlockLine | None:
    """Return a line that lost its indentation although the line it belongs to is in the same place."""
    bare = {line.body: line for line in words if not line.indent}
    kept = {(line.indent, line.body) for line in words}
    for at, line in enumerate(real):
        if not line.indent or line.body not in bare or (line.indent, line.body) in kept:
            continue
        parent = next((each for each in reversed(real[:at]) if len(each.indent) < len(line.indent)), None)
        if parent is not None and (parent.indent, parent.body) in kept:
            return bare[line.body]
    return None


def _single(
    context: BlockContext,
    known: Sequence[Explanation],
    sent: Sequence[BlockLine],
    real: Sequence[BlockLine],
    fresh: list[BlockLine],
) -> list[BlockLine] | None:
    """Return the result if only the first line, perhaps the only one, was sent without its indentation."""
    only = next((each for each in known if isinstance(each, FirstOnly)), None)
    words = [line for line in fresh if line.body]
    if only is None or (len(real) == 1 and len(words) == 1):
        return None
    if len(real) > 1:
        if words[0].indent == sent[0].indent:
            sure = _replaces_first(sent, real, words) and len({*map(str, (_moved(each, fresh) for each in known))}) == 1
            return _moved(only, fresh) if sure else None
        home = next((line for line in real if line.body == words[0].body), real[0])
        return fresh if words[0].indent == real[0].indent == home.indent else None
    if _kept_out(real[0], words):
        return _chosen([each for each in known if each is not only], sent, real, fresh)
    inside = (
        bool(real[0].indent) and context.before.startswith(real[0].indent) and context.after.startswith(real[0].indent)
    )
    if inside and not any(line.indent for line in words):
        return _moved(Shift(add=only.add), fresh)
    return None


def _kept_out(real: BlockLine, words: Sequence[BlockLine]) -> bool:
    """Return whether the only old line now follows new lines and would leave their block without a correction."""
    at = next((k for k, line in enumerate(words) if line.body == real.body), 0)
    return at > 0 and len(words[at].indent) < len(real.indent)


def _replaces_first(sent: Sequence[BlockLine], real: Sequence[BlockLine], words: Sequence[BlockLine]) -> bool:
    """Return whether the first new line surely has the indentation of the first old line."""
    pairs = aligned([line.body for line in sent], [line.body for line in words])
    i, j = pairs[0] if pairs else (len(sent), len(words))
    kept = dict(pairs)
    if not any(line.indent for line in real[1:]) and len(words) > len(pairs):
        return False  # all lines may have lost their indentation
    if kept.get(0, 0) and len(words[kept[0]].indent) < len(real[0].indent):
        return False
    if kept.get(0) == 0 and any(real[a].indent != words[b].indent for a, b in pairs[1:]):
        return False
    return (j > 0 and len({line.indent for line in real[:i]}) <= 1) or (i, j) == (0, 0)


def _chosen(
    known: Sequence[Explanation], sent: Sequence[BlockLine], real: Sequence[BlockLine], fresh: list[BlockLine]
) -> list[BlockLine] | None:
    """Return the only result that the evidence supports. None means none, or several."""
    moved = [_moved(each, fresh) for each in known]
    distinct: list[list[BlockLine]] = []
    for lines in [fresh, *(lines for lines in moved if lines is not None)]:
        if lines not in distinct:
            distinct.append(lines)
    outcomes = [_outcome(lines, sent, real) for lines in distinct]
    anchored = [each for each in outcomes if each.ends]
    if len(anchored) == 1:
        return anchored[0].lines
    supported = [each for each in outcomes if each.supported]
    if len(supported) != 1 or (
        not supported[0].shows_change and any(each.last for each in outcomes if each is not supported[0])
    ):
        return None
    units = [len(each.real) for each in known if isinstance(each, Steps) and each.real != "\t"]
    if supported[0].lines is distinct[0] and any(len(line.indent) % unit for line in fresh for unit in units):
        return None  # the levels have another width than in the file
    return supported[0].lines


def _moved(explanation: Explanation, fresh: Sequence[BlockLine]) -> list[BlockLine] | None:
    out: list[BlockLine] = []
    first = True
    for line in fresh:
        if not line.body:
            out.append(line)
            continue
        indent = explanation.place(line.indent, first)
        if indent is None:
            return None
        out.append(msgspec.structs.replace(line, indent=indent))
        first = False
    return out


def _outcome(lines: list[BlockLine], sent: Sequence[BlockLine], real: Sequence[BlockLine]) -> _Outcome:
    words = [line for line in lines if line.body]
    keys = [[(line.indent, line.body) for line in some] for some in (real, words)]
    kept = [i for i, _ in aligned(*keys) if any(character.isalnum() for character in real[i].body)]
    moved = [given.indent != line.indent for given, line in zip(sent, real, strict=True)]
    return _Outcome(
        lines,
        context=bool(kept),
        shows_change=any(moved[i] for i in kept),
        first=moved[0] and words[0].indent == real[0].indent,
        last=moved[-1] and words[-1].indent == real[-1].indent,
        ends=len(words) > 1 and len(real) > 1 and keys[0][0] == keys[1][0] and keys[0][-1] == keys[1][-1],
    )


def _unclear(context: BlockContext, sent: Sequence[BlockLine], real: Sequence[BlockLine]) -> str:
    at = next(k for k, line in enumerate(context.real) if line.body and line.indent != context.sent[k].indent)
    return (
        f"line {context.number + at} has {indent_text(context.real[at].indent)} of indentation, in old_text it has "
        f"{indent_text(context.sent[at].indent)}, and new_text fits in more than one way. "
        "Send both texts with the file's indentation."
    ).replace("no indentation of indentation", "no indentation")


def _uneven(context: BlockContext) -> str:
    pairs = list(zip(context.sent, context.real, strict=True))
    at = next(k for k, (given, found) in enumerate(pairs) if found.body and given.indent != found.indent)
    return (
        f"the indentation of old_text differs from the file's in more than one way (line {context.number + at} has "
        f"{indent_text(context.real[at].indent)}, in old_text {indent_text(context.sent[at].indent)}). "
        "Send both texts with the file's indentation."
    )
