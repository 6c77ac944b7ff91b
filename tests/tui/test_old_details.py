"""Details of old entries are packed: the person still reads, finds and copies them."""

from __future__ import annotations

from fakes.played_events import Script

from rundry.agent import ToolCalled, ToolFinished, ViewState, reduce_all
from rundry.agent.state.view.show.change_blocks import touch
from rundry.tui.transcript.transcript_search import Search

CALLS = 400


def result_of(number: int) -> str:
    return "".join(f"line {line} of result <{number}> \ud800\n" for line in range(40))


def played() -> ViewState:
    state, script = ViewState(), Script()
    for number in range(CALLS):
        call = ToolCalled(call_id=f"c{number}", tool="read_file", arguments={"path": "a.py"})
        reduce_all(state, script.stamp(call, finished(number, result_of(number))))
    return state


def test_a_detail_reads_the_same_once_it_is_packed():
    state = played()
    assert state.blocks[0].packed and not state.blocks[-1].packed
    assert [block.whole_detail for block in state.blocks] == [result_of(number) for number in range(CALLS)]


def test_a_search_finds_what_is_packed():
    search = Search("line 7 of result <3>")
    blocks = played().blocks
    search.add_matches(blocks, 0, len(blocks))
    assert {index for index, _ in search.hits} == {3}


def test_an_old_entry_that_changes_is_unpacked_first():
    state = played()
    block = touch(state, 0)
    assert (block.detail, block.packed) == (result_of(0), b"")


def finished(number: int, result: str) -> ToolFinished:
    return ToolFinished(call_id=f"c{number}", tool="read_file", ok=True, result=result)
