"""The steps of a run as parts of a page that can be folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .entries import entry_html, time_words
from .text import Words, escaped

if TYPE_CHECKING:
    from rundry.agent import Block

    from ..reading import Recorded

_OPEN = 25
"""With at most this many steps, all of them are unfolded."""
_NAMED = 3
_MOST = 200
"""Blocks of a step that are looked at for its summary."""
_DONE = ("edit", "command", "tool", "check")


def steps_html(run: Recorded, words: Words) -> Iterator[str]:
    """Yield all entries, those of one step in one foldable part, with few of them in memory."""
    is_open = run.state.common.spending.spent.steps <= _OPEN
    group: list[Block] = []
    for block in run.state.blocks:
        if group and (block.step != group[0].step or len(group) >= _MOST):
            yield from _group_html(group, words, is_open=is_open)
            group = []
        group.append(block)
    yield from _group_html(group, words, is_open=is_open)


def _group_html(group: list[Block], words: Words, *, is_open: bool) -> Iterator[str]:
    step = group[0].step if group else None
    if step is not None:
        yield f'<details class="step"{" open" if is_open else ""}><summary>{_summary(step, group, words)}</summary>'
        yield '<div class="steps">'
    for block in group:
        yield from entry_html(block, words)
    if step is not None:
        yield "</div></details>"


def _summary(step: int, group: list[Block], words: Words) -> str:
    """Return what was done in the step: `Step 6  edit src/calc.py +3 −1, check pytest -q  4.1 s`."""
    titles = [block.title for block in group if block.kind in _DONE and block.title]
    named = ", ".join(words.line(" ".join(title.split())) for title in titles[:_NAMED])
    more = f" and {len(titles) - _NAMED} more" if len(titles) > _NAMED else ""
    seconds = sum(block.seconds or 0.0 for block in group)
    spent = escaped(time_words(seconds)) if seconds else ""
    return f'<strong>Step {step}</strong>{named}{more} <span class="dim">{spent}</span>'
