"""A view of a chat as a process of its own: it sends messages, and decides at the gate by a seed.

As a program: `python -m actor.chatting FOLDER WORKSPACE API_BASE SEED [--ask]` begins a chat whose journal is in
FOLDER, or resumes the one that is there. `--ask`: the gate asks before commands, instead of before their effects.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

from rundry.agent.protocol import (
    Budget,
    CommandRefused,
    Decide,
    EntryChoice,
    GateMode,
    GatePolicy,
    LoopKind,
    ModelSpec,
    ProposalDecided,
    ProposalOpened,
    RunEnded,
    RunSpec,
    Say,
    Stop,
    Undo,
    Undone,
    Waiting,
)
from rundry.agent.run.client.run_session import Session
from rundry.agent.run.client.runner_process import RunnerProcess

MESSAGES = 3
"""How often the user writes, with the first message."""


class Chat:
    """Answers the events of a run."""

    def __init__(self, session: Session, seed: int) -> None:
        self._session, self._chance = session, random.Random(f"chat {seed} {time.time_ns()}")
        self._open: dict[str, ProposalOpened] = {}
        self._put: set[str] = set()
        self._is_refused = False
        self._said = 0
        self._waits = self._undoes = False
        self.ended = False

    def see(self, event: Any) -> None:
        """Note an event. What is known at the end of all events is acted on."""
        self._waits = isinstance(event, Waiting) and event.why not in ("gate", "question")
        match event:
            case ProposalOpened(asks=asks) if asks:
                self._open[event.proposal_id] = event
            case ProposalDecided():
                self._open.pop(event.proposal_id, None)
            case CommandRefused(command="decide"):
                self._put.clear()
                self._is_refused = True
            case Waiting(why="message" | "pause" | "handoff"):
                self._said += 1
            case Undone():
                self._undoes = False
            case RunEnded():
                self.ended = True
            case _:
                self.ended = False

    def act(self) -> None:
        """Decide on what is open, and say what comes next."""
        for name, opened in self._open.items():
            if name not in self._put:
                self._put.add(name)
                self._session.put(self._decision(opened))
        if not self._waits:
            return
        self._waits = False
        if self._said >= MESSAGES:
            self._session.put(Stop(how="now"))
        elif self._chance.random() < 0.3 and not self._undoes:
            self._undoes = True
            self._session.put(Undo())
            self._session.put(Say(text="now go on"))
        else:
            self._session.put(Say(text=f"and now the next, {self._said}"))

    def _decision(self, opened: ProposalOpened) -> Decide:
        luck, some = self._chance.random(), dict[int, EntryChoice]()
        if self._is_refused:  # for instance because nothing was left to accept
            verdict, self._is_refused = "reject", False
        elif luck < 0.6:
            verdict = "approve"
        elif opened.effects is not None and len(opened.effects.entries) > 1 and luck < 0.85:
            verdict, some = "part", {0: EntryChoice(skip=True)}
        else:
            verdict = "reject"
        return Decide(proposal_id=opened.proposal_id, digest=opened.digest, verdict=verdict, entries=some)


def main() -> int:
    """Show the chat until it ends."""
    folder, workspace, base, seed = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    session = Session.new(RunnerProcess(folder / "runner.log"))
    there = sorted(folder.glob("*.db"))
    if there:
        session.resume(there[0])
    else:
        mode = GateMode.ASK if "--ask" in sys.argv else GateMode.EFFECTS
        spec = RunSpec(
            run_id="chat",
            loop=LoopKind.CHAT,
            task="change what you like",
            workspace=str(workspace),
            model=ModelSpec(name="fake", api_base=base),
            budget=Budget(steps=40, tokens=None, usd=None, seconds=None),
            gate=GatePolicy(mode=mode),
            attended=True,
        )
        session.begin(spec, folder)
    chat, beaten = Chat(session, seed), 0.0
    while not (chat.ended and session.runner_state() in ("ended", "gone")):
        if time.monotonic() - beaten > 1:
            session.beat()
            beaten = time.monotonic()
        for stamped in session.new_events():
            chat.see(stamped.event)
        if session.runner_state() == "running":
            chat.act()
        elif session.runner_state() == "gone":
            return 1
        time.sleep(0.02)
    session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
