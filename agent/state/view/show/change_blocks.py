"""Create and change blocks. Only this module does so, so that a view misses no change."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ..block import Block, BlockKind, BlockStatus

if TYPE_CHECKING:
    from ....protocol import Stamped
    from ..view_state import ViewState

_SHORT = 20


def is_short(text: str) -> bool:
    """Return whether the result of a person's own action is short enough to be shown unfolded."""
    return text.count("\n") <= _SHORT


def add(
    state: ViewState, stamped: Stamped, kind: BlockKind, *, text: str = "", title: str = "", status: BlockStatus = ""
) -> Block:
    """Append a new block to the transcript."""
    block = Block(kind, stamped.seq, stamped.step, stamped.work, stamped.at, text=text, title=title, status=status)
    state.changed_from = min(state.changed_from, len(state.blocks))
    state.blocks.append(block)
    if state.blocks.is_full:
        state.blocks.drop_oldest(state.changeable)
    return block


def note(state: ViewState, stamped: Stamped, text: str, *, right: str = "", detail: str = "") -> Block:
    """Append a dim line that says what happened."""
    block = add(state, stamped, "note", text=text)
    block.right, block.detail = right, detail
    return block


def touch(state: ViewState, index: int) -> Block:
    """Return the block at `index` and mark it as changed."""
    block = state.blocks.in_memory_at(index)
    block.detail, block.packed = block.whole_detail, b""
    block.version += 1
    state.changed_from = min(state.changed_from, index)
    return block


def grow(state: ViewState, stamped: Stamped, kind: BlockKind, text: str) -> None:
    """Append text to the growing block of this kind and work, or begin a new one."""
    key = (stamped.work, kind)
    index = state.growing.get(key)
    if index is None:
        block = add(state, stamped, kind, text=text)
        block.live = True
        state.growing[key] = len(state.blocks) - 1
        return
    touch(state, index).text += text


def end_blocks(state: ViewState, stamped: Stamped, *kinds: str, status: BlockStatus = "") -> int:
    """End the growing blocks of this work and these kinds; return their number."""
    ended = 0
    for kind in kinds:
        index = state.growing.pop((stamped.work, kind), None)
        if index is None:
            continue
        block = touch(state, index)
        block.live, block.status = False, status
        block.seconds = max(0.0, stamped.at - block.at)
        _note_text(state, block)
        ended += 1
    return ended


def end_all_blocks(state: ViewState) -> None:
    """End all growing blocks and running activities, because the runner is gone or done."""
    for index in [*state.growing.values(), *state.at_call.values(), *state.at_shell.values()]:
        block = state.blocks.in_memory_at(index)
        if block.live or block.status in ("running", "ran", "waiting", "next"):
            touch(state, index)
            block.status = "cut"
            block.live = False
            _note_text(state, block)
    state.growing.clear()
    state.printed.clear()
    state.locks.clear()
    state.at_call.clear()
    state.at_shell.clear()
    state.at_proposal.clear()
    state.at_question.clear()
    state.waiting_children.clear()
    state.activity = state.waiting = state.child_phase = ""
    state.wrapping_up = False
    state.child_busy.clear()


def text_digest(text: str) -> str:
    """Return a digest of a text of the model, ignoring surrounding white space."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _note_text(state: ViewState, block: Block) -> None:
    if block.kind == "text":
        state.last_text = text_digest(block.text)
