"""The steps of a run as parts of a page that can be folded."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Yield all entries, those of one step in one foldable part, with few of them in memory."""
    is_open = run.state.common.ledger.spent.steps <= _OPEN
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
        yield from _entry(block, words)
    if step is not None:
        yield "</div></details>"


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
