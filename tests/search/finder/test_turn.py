"""Requests of one turn of the event loop are carried out together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from rundry.agent.search.items.commit_batch import CommitBatch


class Doing:
    """Doubles numbers, and remembers which came together."""

    def __init__(self) -> None:
        self.together: list[list[int]] = []
        self.turn = CommitBatch(self._double)

    def _double(self, numbers: Sequence[int]) -> list[int]:
        self.together.append(list(numbers))
        if 13 in numbers:
            raise ValueError("thirteen")
        return [2 * number for number in numbers]


async def test_those_who_ask_in_one_turn_are_done_together_and_each_gets_its_own_answer():
    doing = Doing()
    assert await asyncio.gather(*(doing.turn(n) for n in range(5))) == [0, 2, 4, 6, 8]
    assert await doing.turn(7) == 14
    assert doing.together == [[0, 1, 2, 3, 4], [7]]


async def test_what_goes_wrong_is_raised_for_all_of_them_and_the_next_turn_is_whole():
    doing = Doing()
    answers = await asyncio.gather(doing.turn(1), doing.turn(13), return_exceptions=True)
    assert [str(answer) for answer in answers] == ["thirteen", "thirteen"]
    assert await doing.turn(2) == 4


async def test_who_is_cancelled_before_their_turn_was_never_there():
    doing = Doing()
    gone, stays = asyncio.ensure_future(doing.turn(1)), asyncio.ensure_future(doing.turn(2))
    alone = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: (gone.cancel(), alone.set_result(None)))
    await alone
    assert await stays == 4
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert doing.together == [[2]]
