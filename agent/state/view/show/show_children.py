"""Show the child runs of a run: one entry for each, which its end completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ....protocol import ChildFinished, ChildSpent, ChildStarted, ChildWaiting, LoopKind, Spent, Stamped, ToolFinished
from ....protocol.text.counts import plural
from ..view_state import Stopwatch
from .change_blocks import add, touch
from .short_numbers import money

if TYPE_CHECKING:
    from ...common.child_facts import Child
    from ..view_state import ViewState

CHILDREN = (ChildStarted, ChildSpent, ChildWaiting, ChildFinished)
_Event = ChildStarted | ChildSpent | ChildWaiting | ChildFinished


def show_child(state: ViewState, stamped: Stamped, event: _Event) -> None:
    """Show the start, a wait or the end of a child run. The meters show what it spends."""
    match event:
        case ChildStarted():
            title = f"{_which(state, event.number)}  {event.title}"
            add(state, stamped, "tool", title=title, status="running").detail = _where(state, event)
            state.at_child[event.number] = len(state.blocks) - 1
            state.child_busy[event.number] = Stopwatch(since=stamped.at)
        case ChildWaiting():
            state.waiting_children.add(event.number)
            _mark(state, event.number, waits=True)
            state.child_busy.setdefault(event.number, Stopwatch()).halt(stamped.at)
        case ChildSpent():
            child = next((c for c in state.common.children.by_number.values() if c.run_id == event.run_id), None)
            _time(state, stamped, event, child)
            if child is not None and child.is_open and event.spent.steps:
                _show_use(state, child.number, event.spent)
            if child is not None and child.is_open:
                state.waiting_children.discard(child.number)
                _mark(state, child.number, waits=False)
            else:
                return
        case ChildFinished():
            state.waiting_children.discard(event.number)
            if (watch := state.child_busy.pop(event.number, None)) is not None:
                state.count_exact(stamped.at, watch)
            _finished(state, event)
        case _:
            assert_never(event)
    state.child_phase = _phase(state, event)


def _where(state: ViewState, child: ChildStarted | ChildFinished) -> str:
    """Return how a child run is opened: here, and in another terminal."""
    elsewhere = f"rundry watch {child.run_id}"
    return f"/child {child.number} opens it\n{elsewhere}" if state.loop is LoopKind.CHAT else elsewhere


def _show_use(state: ViewState, number: int, spent: Spent) -> None:
    """Show what a running child run used until now."""
    index = state.at_child.get(number)
    if index is not None:
        cost = "$?" if spent.unpriced else f"${money(spent.usd)}"
        touch(state, index).right = f"{plural(spent.steps, 'step')}, {cost}"


def _time(state: ViewState, stamped: Stamped, event: ChildSpent, child: Child | None) -> None:
    """Replace the measured seconds of a child run by exact ones, if these are new, and measure on."""
    watch = Stopwatch() if child is None else state.child_busy.setdefault(child.number, Stopwatch())
    known = state.common.ledger.of_children.get(event.run_id, Spent())
    if event.spent.seconds > known.seconds:
        state.count_exact(stamped.at, watch)
    if child is not None and child.is_open:
        watch.start(stamped.at)


def _phase(state: ViewState, event: _Event) -> str:
    """Return what the running child runs do, in a few words: one that waits for a person comes first.

    `event` is the newest one, which the facts do not have yet.
    """
    running = {child.number for child in state.common.children.by_number.values() if child.is_open}
    if isinstance(event, ChildStarted):
        running.add(event.number)
    elif isinstance(event, ChildFinished):
        running.discard(event.number)
    open_ones = sorted(running)
    if waiting := [number for number in open_ones if number in state.waiting_children]:
        return f"{_name(state, waiting[0])} waits for you"
    if len(open_ones) > 1:
        return f"{plural(len(open_ones), 'child run')} work"
    return _which(state, open_ones[0]) if open_ones else ""


def _which(state: ViewState, number: int) -> str:
    """Return `run 2 of 3`; or `run 2`, `search 2`, `pass 2`, `child 2` in a run that has no last one."""
    return _name(state, number) + (f" of {state.child_count}" if state.child_count else "")


def _name(state: ViewState, number: int) -> str:
    if state.loop is LoopKind.CHAT:
        return f"child {number}"
    is_mixed = state.loop is LoopKind.REVIEW  # searches and repairs in turn
    kind = "run" if state.child_count or is_mixed else "search" if state.improve is None else "pass"
    return f"{kind} {number}"


def new_words(event: ChildFinished) -> list[str]:
    """Return a line for each finding that is new since the earlier searches; empty if the child is not a search."""
    if event.new is None:
        return []
    return [f"new: {one.title} ({one.key})" for one in event.new] or ["nothing new"]


def _mark(state: ViewState, number: int, *, waits: bool) -> None:
    """Show whether a running child works or waits for a person, with the command that opens it."""
    index = state.at_child.get(number)
    if index is not None and state.blocks.in_memory_at(index).open != waits:
        block = touch(state, index)
        block.status, block.open = "waiting" if waits else "running", waits


def show_what_stays(state: ViewState, event: ToolFinished) -> None:
    """Show in the entry of a child run that changes stay in its stage, and the command for them."""
    child = next((c for c in state.common.children.by_number.values() if c.call_id == event.call_id), None)
    index = None if child is None else state.at_child.get(child.number)
    if index is None:
        return
    block = touch(state, index)
    block.status, block.open = "failed", True
    block.right = f"{block.right.partition(',')[0]}, stays staged"
    block.detail = f"{event.stays}\n{block.detail}"


def _finished(state: ViewState, event: ChildFinished) -> None:
    index = state.at_child.get(event.number)
    child = state.common.children.by_number.get(event.number)
    if index is None or child is None:
        return
    block = touch(state, index)
    block.status = "passed" if event.complete else "failed"
    usd = None if child.spent.unpriced else child.spent.usd
    cost = "$?" if usd is None else f"${money(usd)}"
    block.right = f"{event.reason.words}, {plural(child.spent.steps, 'step')}, {cost}"
    block.open = False
    block.seconds = child.spent.seconds  # as its own end has it: without waits for a person
    said = [event.said] if event.said and state.loop is LoopKind.CHAT else []
    block.detail = "\n".join([event.detail, *said, *new_words(event), _where(state, event)])
    if event.new is not None:
        block.right = f"{event.reason.words}, {len(event.new)} new, {cost}"
