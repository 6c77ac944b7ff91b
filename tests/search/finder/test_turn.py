"""Requests of the same turns of the event loop are carried out together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from rundry.agent.search.items.commit_batch import CommitBatch


class Doubling(CommitBatch[int, int]):
    """Doubles numbers, and remembers which came together."""

    def __init__(self) -> None:
        super().__init__()
        self.together: list[list[int]] = []

    def commit(self, requests: Sequence[int]) -> list[int]:
        self.together.append(list(requests))
        if 13 in requests:
            raise ValueError("thirteen")
        return [2 * number for number in requests]


async def test_those_who_ask_in_one_turn_are_done_together_and_each_gets_its_own_answer():
    doing = Doubling()
    assert await asyncio.gather(*(doing.ask(n) for n in range(5))) == [0, 2, 4, 6, 8]
    assert await doing.ask(7) == 14
    assert doing.together == [[0, 1, 2, 3, 4], [7]]


async def test_what_goes_wrong_is_raised_for_all_of_them_and_the_next_turn_is_whole():
    doing = Doubling()
    answers = await asyncio.gather(doing.ask(1), doing.ask(13), return_exceptions=True)
    assert [str(answer) for answer in answers] == ["thirteen", "thirteen"]
    assert await doing.ask(2) == 4


async def test_who_is_cancelled_before_their_turn_was_never_there():
    doing = Doubling()
    gone, stays = asyncio.ensure_future(doing.ask(1)), asyncio.ensure_future(doing.ask(2))
    alone = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: (gone.cancel(), alone.set_result(None)))
    await alone
    assert await stays == 4
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert doing.together == [[2]]


async def test_who_asks_while_answers_are_read_and_worked_joins_them():
    """An answer that is there already is read in one turn and worked in the next."""
    doing, loop = Doubling(), asyncio.get_running_loop()

    async def answered(n: int, turns: int) -> int:
        for _ in range(turns):
            waiting = loop.create_future()
            loop.call_soon(waiting.set_result, None)
            await waiting
        return await doing.ask(n)

    assert await asyncio.gather(*(answered(n, turns=n) for n in range(4))) == [0, 2, 4, 6]
    assert doing.together[0] == [0, 1], "each of these waits takes two turns: one to read, one to go on"
    assert len(doing.together) == 2
