"""A chat that fills the window of its model: each answer has room, up to the moment at which the oldest rounds go."""

from __future__ import annotations

from fakes.turns import say

from rundry.agent.protocol import LoopKind, Say, Stop

WINDOW = 60_000
TURNS = 45
ROOM = 2_048
"""Half of what the window keeps for an answer."""


async def test_an_answer_near_the_end_of_the_window_has_room(driven):
    run = driven(*(say("words " * 1_000) for _ in range(TURNS)), loop=LoopKind.CHAT, task="0", model={"window": WINDOW})
    for turn in range(1, TURNS):
        run.on("waiting", Say(text=str(turn)), why="message", nth=turn)
    run.on("waiting", Stop(how="now"), why="message", nth=TURNS)
    await run.run(watched=True)
    grants = [(e["prompt_tokens"], e["max_tokens"]) for e in run.of("call_admitted")]
    assert len(grants) == TURNS
    assert all(most >= ROOM for _, most in grants), grants
    assert run.of("context_trimmed"), grants
    assert max(prompt for prompt, _ in grants) > 0.9 * WINDOW, grants
