"""The steps of a run as parts of a page that can be folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rundry.agent import clock, try_label

from .diffs import diff_html
from .page_text import Words, escaped

if TYPE_CHECKING:
    from rundry.agent import Block, BlockStatus

    from ..read_run import Recorded

_OPEN = 25
"""With at most this many steps, all of them are unfolded."""
_NAMED = 3
_MOST = 200
"""Blocks of a step that are looked at for its summary."""
_DONE = ("edit", "command", "tool", "check")
_SIGNS: dict[BlockStatus, tuple[str, str]] = {
    "passed": ("✓", "good"),
    "approved": ("✓", "dim"),
    "failed": ("✗", "bad"),
    "rejected": ("✗", "bad"),
    "cut": ("~", "partly"),
    "part": ("~", "partly"),
}
_STATES: dict[BlockStatus, str] = {"running": "running", "waiting": "waiting for you", "rejected": "rejected"}
_SAID = {"task": "Task", "say": "You", "steer": "You, immediately", "question": "The model asks"}


def steps_html(run: Recorded, words: Words) -> Iterator[str]:
    """Yield all entries, those of one step in one foldable part, in the order of the steps, with few in memory."""
    is_open, blocks = run.state.common.ledger.spent.steps <= _OPEN, run.state.blocks
    for (step, is_between), indexes in sorted(_groups(blocks).items()):
        if is_between:
            for index in indexes:
                yield from _entry(blocks[index], words)
            continue
        summary = _summary(step, [blocks[index] for index in indexes[:_MOST]], words)
        yield f'<details class="step"{" open" if is_open else ""}><summary>{summary}</summary>'
        yield '<div class="steps">'
        for index in indexes:
            yield from _entry(blocks[index], words)
        yield "</div></details>"


def _groups(blocks: Iterable[Block]) -> dict[tuple[int, bool], list[int]]:
    """Return the indexes of the entries of each step, and (True) of those that follow it and belong to none.

    Steps that run side by side, as in a search, take turns in the transcript.
    """
    groups, newest = dict[tuple[int, bool], list[int]](), 0
    for index, block in enumerate(blocks):
        newest = max(newest, block.step or 0)
        key = (newest, True) if block.step is None else (block.step, False)
        groups.setdefault(key, []).append(index)
    return groups


def _summary(step: int, group: list[Block], words: Words) -> str:
    """Return what was done in the step: `Step 6  edit src/calc.py +3 −1, check pytest -q  4.1 s`."""
    titles = [block.title for block in group if block.kind in _DONE and block.title]
    named = ", ".join(words.line(" ".join(title.split())) for title in titles[:_NAMED])
    more = f" and {len(titles) - _NAMED} more" if len(titles) > _NAMED else ""
    seconds = sum(block.seconds or 0.0 for block in group)
    spent = escaped(_time_words(seconds)) if seconds else ""
    return f'<strong>Step {step}</strong>{named}{more} <span class="dim">{spent}</span>'


def _entry(block: Block, words: Words) -> Iterator[str]:
    """Yield the HTML of one entry, piece by piece."""
    match block.kind:
        case "text":
            cut = '<p class="partly">~ cut off</p>' if block.status == "cut" else ""
            yield f'<div class="words">{words.markdown(block.text)}{cut}</div>'
        case "reasoning":
            yield f'<details class="entry quiet"><summary>{_row("thought", "", block)}</summary>'
            yield f'<div class="wrapped">{words.lines(block.text)}</div></details>'
        case "task" | "say" | "steer" | "question":
            carries = f'\n<span class="dim">{words.line(block.right)}</span>' if block.right else ""
            said = words.lines(block.text) + carries
            yield f'<div class="said"><span class="dim">{_SAID[block.kind]}</span>\n{said}</div>'
        case _:
            yield from _happened(block, words)


def _happened(block: Block, words: Words) -> Iterator[str]:
    title = " ".join(part for part in (try_label(block.work), block.title) if part)
    is_note = block.kind == "note"
    shown = words.line(title or block.text)
    text = block.text.strip() if title else ""
    right = words.line(block.right or _STATES.get(block.status, ""))
    kind = "note" if is_note else "partly" if block.kind in ("fault", "stall") else "mono"
    row = _row(f'<span class="{kind}">{shown}</span>', right, block)
    detail = block.whole_detail
    if not detail.strip("\n"):
        yield f'<div class="entry plain">{row}</div>'
    else:
        is_diff = block.detail_kind == "diff"
        yield f'<details class="entry"{" open" if is_diff else ""}><summary>{row}</summary>'
        if is_diff:
            yield from diff_html(_path_of(block), words.hide(detail))
        else:
            yield f"<pre>{words.lines(detail)}</pre>"
        yield "</details>"
    if text:
        yield f'<div class="words">{words.markdown(text)}</div>'


def _row(what: str, right: str, block: Block) -> str:
    sign, colour = _SIGNS.get(block.status, (" ", "dim"))
    seconds = "" if block.seconds is None else _time_words(block.seconds)
    return (
        f'<span class="row"><span class="sign {colour}">{sign}</span><span class="what">{what}</span>'
        f'<span class="right">{right}</span><span class="seconds">{escaped(seconds)}</span></span>'
    )


def _path_of(block: Block) -> str:
    """Return the path in the title of an edit, for the language of its lines."""
    return block.title.partition(" ")[2].split("  +", 1)[0]


def _time_words(seconds: float) -> str:
    """Return a duration: `0.2 s`, `42 s`, `1:12`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return clock(seconds)
