"""The facts about a run that every export shows before its steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rundry.agent import clock, end_word, held_words, plural, short, try_label, void_words

from ..control.end_words import proof_rows
from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import Block, ViewState

    from .read_run import Recorded

_NAMES = {"task": "Task", "say": "You", "steer": "You, immediately", "text": "Model", "reasoning": "Thought"}


def facts_of_run(run: Recorded) -> Iterator[tuple[str, str]]:
    """Yield name and value of each fact: identity, time, spend, outcome and evidence."""
    state = run.state
    yield "run", state.run_id
    yield "loop", state.loop.value if state.loop is not None else "-"
    yield "model", state.model
    yield "workspace", state.workspace
    yield "began", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.began))
    yield "spent", spent_words(state)
    ended = state.outcome
    if ended is None:
        yield "outcome", "not ended"
        return
    whole = "complete" if ended.complete else "not complete"
    void = f"{void_words(ended)}; it was {ended.reason.value}: " if void_words(ended) else ""
    yield "outcome", f"{end_word(ended)}: {void}{ended.detail} ({whole}, {clock(ended.seconds)})"
    yield from proof_rows(ended)
    if ended.evidence is not None and ended.evidence.not_guaranteed:
        yield "not guaranteed", "; ".join(ended.evidence.not_guaranteed)
    if ended.files_changed:
        yield "files", ", ".join(ended.files_changed)


def spent_words(state: ViewState) -> str:
    """Describe what the whole run cost: `9 steps, 61k tokens, 0.0400 USD`."""
    spent = state.common.ledger.spent
    usd = "no price known" if spent.unpriced else f"{spent.usd:.4f} USD"
    held = f"; {held_words(spent.held)}" if spent.held else ""
    return f"{plural(spent.steps, 'step')}, {short(spent.tokens.total)} tokens, {usd}{held}"


def block_head(block: Block) -> str:
    """Return one line that says what the block is."""
    parts = (try_label(block.work), _NAMES.get(block.kind, ""), block.title, block.status, block.right)
    return one_line("  ".join(part for part in parts if part))
